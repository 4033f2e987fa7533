/** Clients: the built-in ones with their settings and figures, a consumer's rack as a lever; connections from outside. */
import { FILTERS, count } from "../../i18n/format.js";
import { inspectedAs, isReader } from "../../model/names.js";
import { WIDE, facts, hint, title } from "./common.js";
import { h } from "../patch.js";

/** Racks of brokers, each once: only they are worth a consumer's naming them (KIP-392). */
export const racksOf = (state) => [...new Set(Object.values(state.brokers).map(({ rack }) => rack).filter(Boolean))].sort();

/** What marks the card that was chosen on the stage, and lets it take the focus. */
export function chosenCard(view, kind, name) {
  const key = inspectedAs(kind, name);
  return { key: `card-${key}`, "data-inspected": key, tabindex: "-1", class: `fact-card${view.inspected === key ? " chosen" : ""}` };
}

function rackLever(view, name, client, racks) {
  const { words } = view;
  const now = client.settings?.["client.rack"] ?? "";
  const offered = ["", ...racks, ...(now && !racks.includes(now) ? [now] : [])];
  return h("label", { key: "rack", class: "field" }, h("code", {}, "client.rack"),
    h("select", {
      value: now, "data-rack-of": name, disabled: view.lookOnly,
      onchange: (event) => view.command({ do: "set_client", name, set: { "client.rack": event.target.value } })
    },
      offered.map((rack) => h("option", { key: rack, value: rack }, rack || words.t("client.rack.none")))));
}

function figures(client, words) {
  const wrote = [[words.t("client.acked"), count(client.acked ?? 0)], [words.t("client.failed"), count(client.failed ?? 0)], ...transactions(client, words)];
  if (client.kind === "producer") return wrote;
  const group = client.group ?? client.settings?.["group.id"];
  const read = [[words.t("client.read"), count(client.read ?? 0)], group && [words.t("client.group"), group]];
  return client.kind === "processor" ? [...read, client.into && [words.t("client.into"), client.into], ...wrote] : read;
}

/** Of a transactional producer: in which state it is, and how its transactions have ended. */
function transactions({ transactions: found }, words) {
  if (!found) return [];
  return [
    [words.t("client.transaction"), words.t(`transaction.${found.state.replaceAll(" ", "_")}`)],
    [words.t("client.transactions"), words.t("client.transactions.counts", found)]];
}

function card(view, name, racks) {
  const { state, words } = view;
  const client = state.clients[name];
  const given = Object.entries(client.settings ?? {}).map(([setting, value]) => `${setting}=${value}`);
  return h("article", chosenCard(view, client.kind, name),
    h("h3", {},
      FILTERS.node(name, words.words),
      h("span", { class: "lever-state" }, words.t(`state.${client.state === "stopped" ? client.how ?? "stopped" : client.state}`))),
    facts([...figures(client, words), given.length > 0 && [words.t("client.settings"), h("code", {}, given.join(", ")), WIDE]]),
    isReader(client) && client.state === "running" && racks.length > 0 && rackLever(view, name, client, racks));
}

/** What `client.rack` is good for in this cluster, or why it is not offered. */
function rackNote({ state, words }, racks) {
  if (!Object.values(state.clients).some(isReader)) return null;
  const names = { setting: "client.rack", rack: "broker.rack", selector: "replica.selector.class" };
  if (!racks.length) return hint("rack-note", words.t("client.rack.no_racks", names));
  const selects = Object.values(state.brokers).some(({ replica_selector: selector }) => selector);
  return hint("rack-note", words.t(selects ? "client.rack.hint" : "client.rack.no_selector", names));
}

function outside(view) {
  const { state, words } = view;
  const found = Object.values(state.connections);
  if (!found.length) return null;
  const line = (one) => h("li", { key: one.id },
    h("code", {}, one.client_id || one.peer || `#${one.id}`),
    h("span", {}, [one.software, `${words.t("noun.broker")} ${one.broker}`].filter(Boolean).join(" · ")));
  return h("article", chosenCard(view, "outside", "outside"),
    h("h3", {}, words.t("stage.outside")),
    h("ul", { class: "znodes" }, found.map(line)));
}

/** All clients, below the groups. */
export function clientCards(view) {
  const names = Object.keys(view.state.clients).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const racks = racksOf(view.state);
  return [
    names.length > 0 && title("clients", view.words.t("client.title")), rackNote(view, racks),
    names.map((name) => card(view, name, racks)), outside(view),
  ];
}
