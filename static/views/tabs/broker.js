/** Brokers: a card each; a click opens one with its pipeline, disks, connections, partitions and changed settings. */
import { rows } from "../../model/figures.js";
import { byNumber } from "../../model/names.js";
import { brokerClass } from "../../draw/palette.js";
import { count } from "../../i18n/format.js";
import {
  WIDE, asOf, badge, bytes, cell, commandForm, facts, head, hint, number, table, throttleField, throttleFrom, title
} from "./common.js";
import { h } from "../patch.js";
import { balance } from "./balance.js";

const PARTITIONS = 60;

function card(view, id) {
  const { state, words } = view;
  const broker = state.brokers[id];
  const own = rows(state).filter(({ partition }) => partition.replicas.includes(Number(id)));
  const leads = own.filter(({ partition }) => partition.leader === Number(id)).length;
  const guests = Object.values(state.connections).filter((connection) => connection.broker === Number(id)).length;
  return h("article", { key: id, class: `fact-card ${brokerClass(id)}` },
    h("h3", {},
      badge(id, "leader"),
      h("button", { type: "button", class: "plain more", "data-broker-card": id, onclick: () => view.set({ brokerOpen: id }) },
        `${words.t("noun.broker")} ${id} ›`),
      h("span", { class: "lever-state" }, words.t(`state.${broker.state === "stopped" ? broker.how ?? "stopped" : broker.state}`))),
    facts([
      [words.t("brokers.address"), broker.port ? `${broker.host}:${broker.port}` : words.t("brokers.none"), WIDE],
      [words.t("brokers.leads"), count(leads)], [words.t("brokers.replicas"), count(own.length)],
      [words.t("brokers.connections"), count(guests)], [words.t("brokers.starts"), count(broker.incarnation ?? 0)],
      [words.t("brokers.rack"), broker.rack ?? words.t("brokers.none")],
    ]));
}

/** The way of a request, box by box, with what is in each of them. */
export function pipelineBoxes(pipeline, words) {
  const shelf = pipeline.produce + pipeline.fetch + pipeline.other;
  const boxes = [
    ["acceptor", count(pipeline.connections), null], ["network", `${count(pipeline.reading)}`, pipeline.network],
    ["queue", count(pipeline.queue), pipeline.queue_max],
    ["handlers", count(pipeline.busy), pipeline.handlers], ["purgatory", count(shelf), null], ["responses", count(pipeline.responses), null],
  ];
  return h("ol", { key: "pipe", class: "pipe" },
    boxes.map(([name, value, most]) => h("li", { key: name, class: `pipe-box ${name}`, title: words.t(`pipe.${name}.tip`) },
      h("span", { class: "pipe-name" }, words.t(`pipe.${name}`)),
      h("b", {}, value, most !== null && h("small", {}, ` / ${count(most)}`)))));
}

function disks(found, words) {
  return [
    title("disks", words.t("look.disks")),
    table(
      "disk-table", words.t("look.disks"),
      [
        words.t("look.directory"), words.t("ledger.state"), [words.t("look.logs"), "number"], [words.t("look.segments"), "number"],
        [words.t("look.size"), "number"]],
      found.disks.map((one) => h("tr", { key: one.directory, class: one.online ? "" : "offline" },
        head(h("code", {}, one.directory)),
        cell(one.online ? `✓ ${words.t("look.disk.fine")}` : `✕ ${words.t("look.disk.failed")}`),
        number(one.logs),
        number(one.segments),
        cell(bytes(one.size), "number")))),
  ];
}

const choice = (view, name, values) => h("label", { key: name },
  h("span", {}, view.words.t(`manage.${name}`)),
  h("select", { name, required: true }, values.map((one) => h("option", { key: one, value: one }, one))));

/** Where a broker has several directories: one of its replicas goes to another one. */
function moveReplica(view, found, id) {
  const to = found.disks.filter((one) => one.online).map((one) => one.directory);
  if (to.length < 2 || found.partitions.length === 0) return null;
  return commandForm(
    view, "move_replica", [
      choice(view, "replica", found.partitions.map((one) => one.name)), choice(view, "directory", to), throttleField(view)],
    (given) => {
      const [, topic, number] = /^(.*)-(\d+)$/.exec(given.get("replica"));
      const about = { broker: Number(id), topic, partition: Number(number), directory: given.get("directory") };
      return { do: "move_replica", ...about, ...throttleFrom(given) };
    }, ["broker", id]);
}

/** The log directory of a replica, and where a copy of it grows. */
function placeOf({ directory, moving }, words) {
  const parent = directory.slice(0, directory.lastIndexOf("/"));
  return [h("code", {}, parent), moving && ` → ${moving.directory} (${words.t("look.moving", moving)})`];
}

function connections(found, words) {
  const name = (one) => (one.number >= 0 ? `#${one.number}` : one.source);
  const versions = (one) => Object.entries(one.negotiated).map(([api, version]) => `${api} v${version}`).join(", ");
  return [
    title("connections", words.t("look.connections", { n: found.connections.length })),
    h("ul", { key: "connection-list", class: "znodes" },
      found.connections.map((one) => h("li", { key: `${one.source}${one.name}${one.number}`, class: "connection" },
      h("code", {}, name(one)), h("span", {},
        [one.software || one.client_id || "…", one.number >= 0 ? one.peer : one.name].filter(Boolean).join(" · "),
        one.waiting > 0 && ` · ${words.t("look.waiting", { n: one.waiting })}`,
        versions(one) && h("small", { class: "negotiated" }, versions(one)))))),
  ];
}

/** How much of what clients got went from a file to their sockets without entering the process. */
function zeroCopy({ sent }, words) {
  return sent && hint("sent", words.t("look.sent", { all: bytes(sent.bytes), zero: bytes(sent.zero_copied) }));
}

/** Incremental fetch sessions (KIP-227): who is remembered, so that a fetch names only what has changed. */
function sessions({ sessions: cache }, words) {
  if (!cache) return null;
  const name = words.t("look.sessions");
  return [
    title("sessions", name), hint("session-facts", words.t("look.sessions.facts", cache)),
    cache.list.length > 0 && table(
      "session-table", name,
      [
        words.t("look.sessions.id"), [words.t("look.sessions.epoch"), "number"], [words.t("look.sessions.partitions"), "number"],
        [words.t("look.sessions.dirty"), "number"], [words.t("look.sessions.idle"), "number"]],
      cache.list.slice(0, PARTITIONS).map((one) => h("tr", { key: one.id, "data-session": one.id },
        head(h("code", {}, String(one.id)), h("small", { class: "meaning" },
          words.t(one.follower ? "look.sessions.follower" : "look.sessions.consumer"))),
        number(one.epoch),
        number(one.partitions),
        number(one.dirty),
        cell(words.t("look.ms", { n: one.idle_ms }), "number")))),
  ];
}

function partitions(view, found) {
  const { words } = view;
  const several = found.disks.length > 1;
  const choose = (name) => {
    const at = name.lastIndexOf("-");
    view.choose(name.slice(0, at), name.slice(at + 1));
    view.showTab("replicas");
  };
  return [
    title("own", words.t("look.partitions", { n: found.partitions.length })),
    table(
      "own-table", words.t("look.partitions", { n: found.partitions.length }),
      [
        words.t("table.partition"), words.t("look.role"), ["HW", "number"], ["LEO", "number"], several && words.t("look.directory"),
        [words.t("look.size"), "number"]].filter(Boolean),
      found.partitions.slice(0, PARTITIONS).map((one) => h("tr", { key: one.name },
        head(h("button", { type: "button", class: "plain", onclick: () => choose(one.name) }, one.name)),
        cell(words.t(`look.role.${one.role}`)),
        number(one.hw),
        number(one.leo),
        several && cell(placeOf(one, words)),
        cell(bytes(one.size), "number")))),
  ];
}

function settings(found, words) {
  return [
    title("settings", words.t("look.changed_settings", { n: found.config.length })),
    h("ul", { key: "setting-list", class: "znodes settings" },
      found.config.map((one) => h("li", { key: one.name },
        h("code", {}, one.name),
        h("span", {},
          h("b", {}, one.value ?? "–"),
          one.default !== null && one.default !== one.value
            && h("small", {}, ` ${words.t("config.instead_of", { value: one.default })}`))))),
  ];
}

function whole(view, id) {
  const { words } = view;
  const entry = view.inquiry.get("broker", id);
  const { found } = entry;
  return [
    h("button", { key: "back", type: "button", class: "plain more", onclick: () => view.set({ brokerOpen: null }) }, `‹ ${words.t("look.all_brokers")}`),
    h("h3", { key: "name", class: "look-title" }, badge(id, "leader"), ` ${words.t("noun.broker")} ${id}`), asOf(view, entry),
    found && found.faults.length > 0 && hint(
      "faults", `▲ ${words.t("look.faults", { list: found.faults.map((one) => words.t(`fault.${one.kind}`)).join(", ") })}`),
    found?.pipeline && [
      facts([
        [words.t("look.broker_epoch"), found.epoch ?? "–"], [words.t("brokers.starts"), count(found.incarnation)],
        [words.t("look.is_controller"), words.t(found.controller ? "yes" : "no")],
        [words.t("look.cache_version"), count(found.cache_version)]]),
      title("pipeline", words.t("pipe")), pipelineBoxes(found.pipeline, words), hint("pipe-hint", words.t("pipe.hint", { n: found.pipeline.done })),
      disks(found, words), moveReplica(view, found, id), partitions(view, found), connections(found, words), zeroCopy(found, words),
      sessions(found, words), settings(found, words),
    ],
    found && !found.pipeline && hint("stopped", words.t("look.not_running")),
  ];
}

export function brokersTab(view) {
  const ids = Object.keys(view.state.brokers).sort(byNumber);
  return ids.includes(view.brokerOpen) ? whole(view, view.brokerOpen) : [ids.map((id) => card(view, id)), balance(view)];
}
