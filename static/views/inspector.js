/** The inspector: partitions, brokers, groups, the coordination tree, and how to attach a client. */
import { lag, leaderLog, rows } from "../model/figures.js";
import { byNumber, isInternal } from "../model/names.js";
import { count } from "../i18n/format.js";
import { brokerClass } from "../draw/palette.js";
import { h } from "./patch.js";

export const TABS = ["partitions", "brokers", "groups", "tree", "attach"];
const ROW_HEIGHT = 27;
const VIRTUAL_FROM = 120;

/** The tabs themselves; arrow keys move between them. */
export function tabs(view) {
  const move = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = TABS[(TABS.indexOf(view.tab) + by + TABS.length) % TABS.length];
    view.showTab(next);
    event.currentTarget.parentNode.querySelector(`[data-tab=${next}]`).focus();
  };
  return TABS.map((name) => h("button", {
    key: name, type: "button", role: "tab", "data-tab": name, id: `tab-${name}`, "aria-selected": String(view.tab === name), "aria-controls": "tab-panel",
    tabindex: view.tab === name ? "0" : "-1", class: view.tab === name ? "on" : "", onclick: () => view.showTab(name), onkeydown: move,
  }, view.words.t(`tab.${name}`)));
}

export function badge(id, kind, label) {
  return h("span", { key: id, class: `badge ${brokerClass(id)} ${kind}`, "aria-label": label, role: label ? "img" : null }, id);
}

function isr(partition, words) {
  return partition.replicas.map((id) => (partition.isr.includes(id) ? badge(id, "in") : badge(id, "out", words.t("table.out", { id }))));
}

function partitionRow(view, { topic, number, name, partition }) {
  const { words } = view;
  const log = leaderLog(partition);
  const offline = partition.leader !== null && partition.leader < 0;
  const low = !offline && partition.leader !== null && partition.isr.length < partition.min_isr;
  const choose = () => view.choose(topic, number);
  return h("tr", { key: name, class: `${name === view.chosen ? "chosen" : ""}${offline ? " offline" : low ? " low" : ""}`, onclick: choose, "data-partition": name },
    h("th", { scope: "row" }, h("button", { type: "button", class: "plain", "aria-pressed": String(name === view.chosen), onclick: choose }, name)),
    h("td", {}, partition.leader === null ? words.t("table.new") : offline ? h("span", { class: "none" }, `✕ ${words.t("table.offline")}`) : badge(partition.leader, "leader")),
    h("td", { class: "isr" }, isr(partition, words)),
    h("td", { class: "number" }, log ? count(log.hw) : "–"),
    h("td", { class: "number" }, log ? count(log.leo) : "–"));
}

function partitions(view) {
  const { state, words } = view;
  const all = rows(state).filter(({ topic }) => view.internal || !isInternal(topic));
  const virtual = all.length > VIRTUAL_FROM;
  const from = virtual ? Math.max(0, Math.floor(view.tabScroll / ROW_HEIGHT) - 10) : 0;
  const shown = virtual ? all.slice(from, from + Math.ceil(view.tabHeight / ROW_HEIGHT) + 20) : all;
  const filler = (key, n) => n > 0 && h("tr", { key, class: "filler", "aria-hidden": "true", style: { height: `${n * ROW_HEIGHT}px` } }, h("td", { colspan: 5 }));
  const head = (key, kind) => h("th", { scope: "col", class: kind }, words.t(key));
  return [
    h("table", { key: "table", class: "partitions", "aria-rowcount": virtual ? String(all.length) : null },
      h("caption", { class: "unseen" }, words.t("table.caption")),
      h("thead", {}, h("tr", {}, head("table.partition"), head("table.leader"), head("table.isr"), head("table.hw", "number"), head("table.leo", "number"))),
      h("tbody", {}, filler("above", from), shown.map((row) => partitionRow(view, row)), filler("below", all.length - from - shown.length))),
    !all.length && h("p", { key: "empty", class: "empty" }, words.t("table.empty")),
    h("label", { key: "internal", class: "check" }, h("input", { type: "checkbox", checked: view.internal, onchange: (event) => view.setInternal(event.target.checked) }), words.t("table.internal")),
  ];
}

function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function brokers({ state, words }) {
  return Object.keys(state.brokers).sort(byNumber).map((id) => {
    const broker = state.brokers[id];
    const own = rows(state).filter(({ partition }) => partition.replicas.includes(Number(id)));
    const leads = own.filter(({ partition }) => partition.leader === Number(id)).length;
    const guests = Object.values(state.connections).filter((connection) => connection.broker === Number(id)).length;
    return h("article", { key: id, class: `fact-card ${brokerClass(id)}` },
      h("h3", {}, badge(id, "leader"), ` ${words.t("noun.broker")} ${id}`, h("span", { class: "lever-state" }, words.t(`state.${broker.state === "stopped" ? broker.how ?? "stopped" : broker.state}`))),
      facts([
        [words.t("brokers.address"), broker.port ? `${broker.host}:${broker.port}` : words.t("brokers.none")],
        [words.t("brokers.leads"), count(leads)], [words.t("brokers.replicas"), count(own.length)],
        [words.t("brokers.connections"), count(guests)], [words.t("brokers.starts"), count(broker.incarnation ?? 0)],
        [words.t("brokers.rack"), broker.rack ?? words.t("brokers.none")],
      ]));
  });
}

function groupCard(view, name, group) {
  const { state, words } = view;
  const lines = [];
  for (const [topic, offsets] of Object.entries(group.offsets)) {
    for (const [number, offset] of Object.entries(offsets).sort(([a], [b]) => a - b)) {
      const log = state.topics[topic]?.partitions[number] && leaderLog(state.topics[topic].partitions[number]);
      const owner = group.members.find((member) => (member.assignment?.[topic] ?? []).includes(Number(number)));
      lines.push(h("tr", { key: `${topic}-${number}` }, h("th", { scope: "row" }, `${topic}-${number}`), h("td", {}, owner?.client_id ?? "–"),
        h("td", { class: "number" }, count(offset)), h("td", { class: "number" }, log ? count(Math.max(0, log.hw - offset)) : "–")));
    }
  }
  return h("article", { key: name, class: "fact-card" },
    h("h3", {}, name, h("span", { class: "lever-state" }, words.t(`reason.${group.state}`))),
    facts([
      [words.t("groups.coordinator"), group.coordinator ? badge(group.coordinator, "leader") : "–"], [words.t("groups.generation"), count(group.generation)],
      [words.t("groups.members"), count(group.members.length)], [words.t("groups.lag"), count(lag(state, group))],
    ]),
    lines.length > 0 && h("table", { class: "partitions small" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, words.t("table.partition")), h("th", { scope: "col" }, words.t("groups.members")), h("th", { scope: "col", class: "number" }, words.t("groups.committed")), h("th", { scope: "col", class: "number" }, words.t("groups.lag")))),
      h("tbody", {}, lines)));
}

function groups(view) {
  const names = Object.keys(view.state.groups).sort();
  if (!names.length) return h("p", { class: "empty" }, view.words.t("groups.empty"));
  return names.map((name) => groupCard(view, name, view.state.groups[name]));
}

function tree({ state, words }) {
  const paths = Object.keys(state.znodes).sort();
  if (!paths.length) return h("p", { class: "empty" }, words.t("tree.empty"));
  return h("ul", { class: "znodes" }, paths.map((path) => {
    const { version, ephemeral } = state.znodes[path];
    const depth = path.split("/").length - 2;
    return h("li", { key: path, style: { "--depth": String(depth) } }, h("code", {}, depth ? path.slice(path.lastIndexOf("/")) : path),
      h("span", {}, ephemeral ? `◷ ${words.t("tree.ephemeral", { owner: ephemeral })}` : words.t("tree.version", { version })));
  }));
}

function commandLines(bootstrap, topic) {
  return [
    ["attach.produce", `echo hello | kcat -P -b ${bootstrap} -t ${topic} -X acks=all`],
    ["attach.consume", `kcat -C -b ${bootstrap} -t ${topic} -o beginning`],
    ["attach.java", `kafka-console-consumer.sh --bootstrap-server ${bootstrap} --topic ${topic} --group demo`],
    ["attach.python", `Producer({"bootstrap.servers": "${bootstrap}", "acks": "all"})`],
  ];
}

function attach(view) {
  const { state, words } = view;
  const bootstrap = Object.keys(state.brokers).sort(byNumber).map((id) => state.brokers[id]).filter((broker) => broker.port).map((broker) => `${broker.host}:${broker.port}`).join(",");
  if (!bootstrap) return h("p", { class: "empty" }, words.t("attach.no_listener"));
  const line = ([key, text]) => h("div", { key, class: "copy-line" }, h("span", { class: "field-name" }, words.t(key)), h("code", {}, text),
    h("button", { type: "button", onclick: (event) => view.copy(text, event.currentTarget) }, words.t("attach.copy")));
  const guests = Object.values(state.connections);
  return [
    h("p", { key: "text", class: "hint" }, words.t("attach.text")),
    line(["attach.bootstrap", bootstrap]),
    commandLines(bootstrap, view.topicName ?? "orders").map(line),
    h("h3", { key: "guests" }, words.t("attach.connected")),
    guests.length ? h("ul", { key: "list", class: "znodes" }, guests.map((guest) => h("li", { key: guest.id }, h("code", {}, `#${guest.id}`), h("span", {}, `${guest.software ?? guest.client_id ?? "…"} → ${words.t("noun.broker")} ${guest.broker}`))))
      : h("p", { key: "none", class: "empty" }, words.t("attach.none")),
  ];
}

const PANELS = { partitions, brokers, groups, tree, attach };

/** The contents of the chosen tab. */
export function panel(view) {
  return [h("div", { key: view.tab, class: `tab-${view.tab}` }, PANELS[view.tab](view))];
}
