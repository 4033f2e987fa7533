/** The inspector's tabs. The list of partitions is here, the others in `tabs/`. */
import { leaderLog, rows } from "../model/figures.js";
import { isInternal, isKRaft } from "../model/names.js";
import { count } from "../i18n/format.js";
import { attachTab } from "./tabs/attach.js";
import { brokersTab } from "./tabs/broker.js";
import { badge } from "./tabs/common.js";
import { configTab } from "./tabs/config.js";
import { filesTab } from "./tabs/files.js";
import { groupsTab } from "./tabs/group.js";
import { logTab } from "./tabs/log.js";
import { lightsTab } from "./tabs/lights.js";
import { metadataTab } from "./tabs/metadata.js";
import { metricsTab } from "./tabs/metrics.js";
import { replicasTab } from "./tabs/replicas.js";
import { requestTab } from "./tabs/request.js";
import { transactionsTab } from "./tabs/transactions.js";
import { treeTab } from "./tabs/tree.js";
import { h } from "./patch.js";

const ROW_HEIGHT = 27;
const VIRTUAL_FROM = 120;

/** Each tab with its views; the first is what the tab opens. */
export const TABS = {
  partitions: ["partitions", "replicas"], brokers: ["brokers", "log", "files", "config"], clients: ["groups", "transactions", "attach"],
  requests: ["request"], health: ["metrics", "lights", "tree", "metadata"]
};

/** Each generation keeps its metadata in one place: the coordination tree, or the metadata log. */
const viewsOf = (tab, { state }) => TABS[tab].filter((name) => name !== (isKRaft(state) ? "tree" : "metadata"));

const tabOf = (name) => Object.keys(TABS).find((tab) => TABS[tab].includes(name));

/** The tabs themselves; arrow keys move between them. */
export function tabs(view) {
  const all = Object.keys(TABS);
  const chosen = tabOf(view.tab);
  const move = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const [next] = TABS[all[(all.indexOf(chosen) + by + all.length) % all.length]];
    view.showTab(next);
    event.currentTarget.parentNode.querySelector(`[data-tab=${next}]`).focus();
  };
  return all.map((tab) => h("button", {
    key: tab, type: "button", role: "tab", "data-tab": TABS[tab][0], id: `tab-${tab}`, "aria-selected": String(tab === chosen), "aria-controls": "tab-panel",
    tabindex: tab === chosen ? "0" : "-1", class: tab === chosen ? "on" : "", onclick: () => view.showTab(TABS[tab][0]), onkeydown: move,
  }, view.words.t(`tabs.${tab}`)));
}

/** The views of the chosen tab, where it has more than one. */
export function tabViews(view) {
  const tab = tabOf(view.tab);
  const all = viewsOf(tab, view);
  if (all.length < 2) return [];
  return [h("div", { key: tab, class: "segments", role: "group", "aria-label": view.words.t(`tabs.${tab}`) },
    all.map((name, index) => h("button", {
      key: name, type: "button", "data-view": name, "data-tab": index ? name : null, "aria-pressed": String(name === view.tab),
      class: name === view.tab ? "on" : "", onclick: () => view.showTab(name)
    }, view.words.t(`tab.${name}`))))];
}

/** The name of the tab that is open, as its element has it. */
export const openTab = (view) => `tab-${tabOf(view.tab)}`;

function isr(partition, words) {
  return partition.replicas.map((id) => (partition.isr.includes(id) ? badge(id, "in") : badge(id, "out", words.t("table.out", { id }))));
}

function partitionRow(view, { topic, number, name, partition }) {
  const { words } = view;
  const log = leaderLog(partition);
  const offline = partition.leader !== null && partition.leader < 0;
  const low = !offline && partition.leader !== null && partition.isr.length < partition.min_isr;
  const choose = () => view.choose(topic, number);
  return h("tr", {
    key: name, class: `${name === view.chosen ? "chosen" : ""}${offline ? " offline" : low ? " low" : ""}`, onclick: choose,
    "data-partition": name
  },
    h("th", { scope: "row" }, h("button", { type: "button", class: "plain", "aria-pressed": String(name === view.chosen), onclick: choose }, name)),
    h("td", {},
      partition.leader === null
        ? words.t("table.new")
        : offline ? h("span", { class: "none" }, `✕ ${words.t("table.offline")}`) : badge(partition.leader, "leader")),
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
  const filler = (key, n) => n > 0 && h("tr", { key, class: "filler", "aria-hidden": "true", style: { height: `${n * ROW_HEIGHT}px` } },
    h("td", { colspan: 5 }));
  const head = (key, kind) => h("th", { scope: "col", class: kind }, words.t(key));
  return [
    h("table", { key: "table", class: "partitions", "aria-rowcount": virtual ? String(all.length) : null },
      h("caption", { class: "unseen" }, words.t("table.caption")),
      h("thead", {}, h("tr", {}, head("table.partition"), head("table.leader"), head("table.isr"), head("table.hw", "number"), head("table.leo", "number"))),
      h("tbody", {}, filler("above", from), shown.map((row) => partitionRow(view, row)), filler("below", all.length - from - shown.length))),
    !all.length && h("p", { key: "empty", class: "empty" }, words.t("table.empty")),
    h("label", { key: "internal", class: "check" },
      h("input", { type: "checkbox", checked: view.internal, onchange: (event) => view.setInternal(event.target.checked) }),
      words.t("table.internal")),
  ];
}

const PANELS = {
  partitions, replicas: replicasTab, brokers: brokersTab, groups: groupsTab, transactions: transactionsTab, log: logTab, files: filesTab,
  config: configTab, request: requestTab, metrics: metricsTab, lights: lightsTab, tree: treeTab, metadata: metadataTab, attach: attachTab
};

/** The contents of the chosen tab. */
export function panel(view) {
  return [h("div", { key: view.tab, class: `tab-${view.tab}` }, PANELS[view.tab](view))];
}
