/** One partition, batch by batch and replica by replica: equal checksums are equal copies. */
import { leaderLog, ledger, shortCrc } from "../model/figures.js";
import { count } from "../i18n/format.js";
import { LEDGER_VIEWS, bytesBody } from "./bytes.js";
import { segments } from "./levers.js";
import { opened } from "./modes.js";
import { recordBody } from "./record.js";
import { badge } from "./tabs/common.js";
import { h } from "./patch.js";

/** How far a replica is behind the leader; one that has more than the leader is ahead. */
const behind = (n, words) => (n < 0 ? `⊘ ${words.t("ledger.ahead", { n: -n })}` : count(n));

/** What a replica is, as a sign and a word; one whose broker does not run shows what its disk holds. */
function roleOf(partition, id, state) {
  if (state.brokers[id]?.state === "stopped") return ["×", "look.replica.down"];
  if (partition.leader === id) return ["★", "stage.legend.leader"];
  return partition.isr.includes(id) ? ["•", "stage.legend.isr"] : ["▽", "stage.legend.out"];
}

/** Of a broker that has several log directories. */
const inDirectory = (log) => log?.directory && h("small", {}, ` · ${log.directory}`);

function replicas({ chosenPartition: partition, words, state }) {
  const ahead = leaderLog(partition)?.leo ?? 0;
  return h("table", { key: "replicas", class: "partitions small" },
    h("thead", {},
      h("tr", {},
        h("th", { scope: "col" }, words.t("ledger.replica")),
        h("th", { scope: "col" }, words.t("ledger.state")),
        h("th", { scope: "col", class: "number" }, words.t("table.hw")),
      h("th", { scope: "col", class: "number" }, words.t("table.leo")), h("th", { scope: "col", class: "number" }, words.t("ledger.behind")))),
    h("tbody", {}, partition.replicas.map((id) => {
      const log = partition.logs[id];
      const role = roleOf(partition, id, state);
      return h("tr", { key: id },
        h("th", { scope: "row" }, badge(id, partition.isr.includes(id) ? "in" : "out")),
        h("td", { class: partition.isr.includes(id) && role[0] !== "×" ? "" : "none" }, `${role[0]} ${words.t(role[1])}`,
          inDirectory(log)),
        h("td", { class: "number" }, log ? count(log.hw) : "–"), h("td", { class: "number" }, log ? count(log.leo) : "–"),
        h("td", { class: `number${log && log.leo > ahead ? " absent" : ""}` }, log ? behind(ahead - log.leo, words) : "–"));
    })));
}

function batchCell(line, id, words) {
  const there = id in line.replicas;
  const label = there ? null : words.t("ledger.missing");
  return h("td", { key: id, class: `crc ${there ? "" : "hole"}${line.differs ? " differs" : ""}` },
    there ? `${line.differs ? "≠" : ""}${shortCrc(line.replicas[id])}` : h("span", { "aria-label": label, role: "img" }, "┄"));
}

function stateOf(line, hw, words) {
  if (line.absent) return `⊘ ${words.t("ledger.absent")}`;
  if (line.differs) return `≠ ${words.t("ledger.differs")}`;
  return line.last < hw ? `■ ${words.t("ledger.committed")}` : `□ ${words.t("ledger.waiting")}`;
}

function batchesHead({ replicas }, words) {
  return h("tr", {},
    h("th", { scope: "col" }, words.t("ledger.offsets")),
    h("th", { scope: "col", class: "number" }, words.t("ledger.bytes")),
    replicas.map((id) => h("th", { key: id, scope: "col" }, badge(id, "leader"))),
    h("th", { scope: "col" }, words.t("ledger.state")));
}

function batchRow(line, { chosenPartition: { replicas }, words, showBytes }, hw) {
  const opens = h("button", { type: "button", class: "plain more", title: words.t("bytes.open"), onclick: () => showBytes(line.base) },
    count(line.base),
    line.base !== line.last && ["–", h("wbr", {}), count(line.last)]);
  return h("tr", { key: line.key, class: line.absent ? "astray" : line.differs ? "offline" : "" },
    h("th", { scope: "row" }, opens),
    h("td", { class: "number" }, count(line.bytes)),
    replicas.map((id) => batchCell(line, id, words)),
    h("td", { class: line.absent ? "absent" : "batch-state" }, stateOf(line, hw, words)));
}

function batches(view) {
  const { chosenPartition: partition, words } = view;
  const lines = ledger(partition);
  if (!lines.length) return h("p", { key: "none", class: "hint" }, words.t("ledger.no_batches"));
  const hw = partition.committed ?? leaderLog(partition)?.hw ?? 0;
  return [
    h("table", { key: "batches", class: "partitions small batches" },
      h("thead", {}, batchesHead(partition, words)),
      h("tbody", {}, lines.map((line) => batchRow(line, view, hw)))),
    h("p", { key: "hint", class: "hint" }, words.t("ledger.hint")),
    lines.some((line) => line.absent) && h("p", { key: "absent", class: "hint" },
      h("b", { class: "absent" }, `⊘ ${words.t("ledger.absent")}`),
      `: ${words.t("ledger.absent.hint")}`),
  ];
}

export function ledgerTitle(view) {
  const { chosen, record, words } = view;
  if (opened(view)) return words.t("receipt.at", { partition: record.name, offset: record.offset });
  return chosen ? words.t("ledger.of", { partition: chosen }) : words.t("ledger");
}

/** The record that was chosen, batches, bytes, or the way through the index. */
export function ledgerViews(view) {
  const { words } = view;
  if (view.mode !== "inspect")
    return [h("button", {
      key: "close", type: "button", class: "round", "data-record-close": "", "aria-label": words.t("close"),
      onclick: () => view.closeRecord()
    }, "×")];
  return segments(
    "ledger", words.t("ledger"),
    [...(view.record ? ["record"] : []), ...LEDGER_VIEWS].map((name) => [name, words.t(`ledger.view.${name}`)]), view.ledgerView,
    (ledgerView) => view.set({ ledgerView }));
}

/** Replicas of the chosen partition, then its last batches; or the bytes of one. */
export function ledgerBody(view) {
  if (!view.chosenPartition) return [h("p", { key: "empty", class: "empty" }, view.words.t("ledger.empty"))];
  if (opened(view)) return recordBody(view);
  return view.ledgerView === "batches" || view.ledgerView === "record" ? [replicas(view), batches(view)] : bytesBody(view);
}
