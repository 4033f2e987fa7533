/** The receipt: what was acknowledged, read, lost, doubled, out of order; and where. What else is odd is folded beneath. */
import { count, seconds } from "../i18n/format.js";
import { stretchesOf } from "../model/fates.js";
import { h } from "./patch.js";
import { replayButton } from "./spark/buttons.js";
import { OPERATOR } from "../model/names.js";

const SHOWN = 40;
const FEW = 6;
const TONE = { lost: "bad", at_risk: "warn", duplicated: "warn", reordered: "warn" };
const TOLD = new Set(["lost", "unread", "at_risk", "duplicated", "removed", "aborted"]);

/** Counted from another side than the five figures, often the same records once more: never to be added to them. */
const FURTHER = ["inconsistent", "failed_read", "nonmonotonic_send", "stale", "precommitted_read", "read_cycle", "write_cycle"];

/**
 * The figures of a receipt, or of one of its producers; null is not recorded. What a rule has deleted is told where it
 * happened. The words are defined in lab/checkers/fates.py. Pure.
 */
export function figures(found) {
  const names = [
    "acked", "read", "lost", "unread", "at_risk", "duplicated", "reordered", ...(found.removed > 0 ? ["removed"] : []),
    ...(found.aborted > 0 ? ["aborted"] : [])];
  return names.map((name) => [name, found[name] ?? null]);
}

const NOBODY = {
  batches: 0, records: 0, acked_records: 0, lost_records: 0, unread_records: 0, at_risk_records: 0, duplicated_records: 0,
  removed_records: 0, places: [], complete: true
};

/** What the brokers saw of clients that the lab did not start. Pure. */
export const outsideOf = (found) => ({ ...NOBODY, ...found.outside });

/** Places of a receipt, one kind after another: [{kind, ...place}]. Pure. */
export function placesOf(found) {
  const all = [];
  for (const [name, places] of Object.entries(found.places ?? {})) {
    for (const place of places) all.push({ ...place, kind: name });
  }
  for (const place of outsideOf(found).places) all.push({ ...place, kind: "lost", outside: true });
  const order = ["lost", "at_risk", "duplicated", "reordered", "removed", ...FURTHER];
  return all.sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));
}

/** How many places there are of what a figure counts; a receipt names the first thousand of each kind. Pure. */
export function placesCounted(found, places) {
  const kinds = [...new Set(places.map(({ kind }) => kind))];
  const named = (kind) => places.filter((one) => one.kind === kind && !one.outside).length;
  return places.filter(({ outside }) => outside).length + kinds.reduce((sum, kind) => sum + Math.max(named(kind), found[kind] ?? 0), 0);
}

/** What a click on a figure does: the first stretch of that kind is shown on the stage; null where no places are known. */
export const showing = ({ desk }, found) => (kind) => {
  const [first] = stretchesOf(placesOf(found ?? {}).filter((one) => one.kind === kind && Number.isInteger(one.offset) && one.offset >= 0));
  return first ? () => desk.receipts.showStretch(first) : null;
};

function figure(name, n, show, words) {
  if (n === null) return words.t("receipt.unknown");
  return show
    ? h("button", {
      type: "button", class: "plain", "data-show": name, title: words.t("receipt.show"),
      "aria-label": `${words.t(`receipt.${name}`)} ${count(n)}: ${words.t("receipt.show")}`, onclick: show
    }, count(n))
    : count(n);
}

/** The figures; `shows(name)`: what a click on one does. */
export function receiptTable(found, words, shows = () => null) {
  return h("dl", { class: "receipt" }, figures(found).map(([name, n]) => h("div", { key: name, class: `figure ${n > 0 ? TONE[name] ?? "plain" : "plain"}` },
    h("dt", { title: TOLD.has(name) ? words.t(`receipt.${name}.tip`) : null }, words.t(`receipt.${name}`)),
    h("dd", { class: "number", "data-figure": name }, figure(name, n, n > 0 ? shows(name) : null, words)))));
}

/** What else was found: [{kind, n, key}]; `key` names the sentence that says what it means, beside a loss another one. Pure. */
export function furtherOf(found) {
  const lost = found.inconsistent <= found.lost;
  return FURTHER.filter((kind) => found[kind] > 0).map((kind) => ({
    kind, n: found[kind], key: kind === "inconsistent" && lost ? "receipt.further.inconsistent_lost" : `receipt.further.${kind}`
  }));
}

/** The further findings, folded: each with a sentence, and where `placed` draws one, with its places. */
export function further(found, words, placed = null) {
  const rows = furtherOf(found);
  if (!rows.length) return null;
  const places = placed ? placesOf(found) : [];
  return h("details", { key: "further", class: "further" },
    h("summary", {}, words.t("receipt.further", { what: rows.map(({ kind, n }) => `${words.t(`receipt.one.${kind}`)} ${count(n)}`).join(" · ") })),
    rows.map(({ kind, n, key }) => {
      const mine = stretchesOf(places.filter((one) => one.kind === kind));
      const shown = mine.slice(0, FEW).reduce((sum, one) => sum + one.n, 0);
      return h("section", { key: kind, "data-further": kind, "data-count": n },
        h("h4", {}, words.t(`receipt.one.${kind}`), " ", h("span", { class: "number" }, count(n))),
        h("p", { class: "hint" }, words.t(key)),
        mine.length > 0 && h("ol", { class: "places" }, mine.slice(0, FEW).map(placed)),
        mine.length > FEW && h("p", { class: "hint" }, words.t("receipt.more", { n: n - shown })));
    }));
}

/**
 * {tone, sign, key, n} of the verdict, over the lab's own clients and those from outside. Pure.
 *
 * Two values at one offset, and none of them lost: what was read and never acknowledged is gone.
 */
export function judgement(found) {
  const outside = outsideOf(found);
  const lost = found.lost + outside.lost_records;
  if (lost > 0) return { tone: "bad", sign: "✕", key: "lost", n: lost };
  const [thin, twice, unread] = ["at_risk", "duplicated", "unread"].map((name) => (found[name] ?? 0) + (outside[`${name}_records`] ?? 0));
  if (thin > 0) return { tone: "warn", sign: "▲", key: "at_risk", n: thin };
  if (found.inconsistent > 0) return { tone: "warn", sign: "▲", key: "replaced", n: found.inconsistent };
  if (twice > 0) return { tone: "warn", sign: "▲", key: "duplicated", n: twice };
  if (!found.acked && !outside.acked_records) return { tone: "", sign: "", key: "nothing", n: 0 };
  return { tone: "good", sign: "✓", key: unread ? "so_far" : "good", n: unread };
}

/** The verdict with its sign, as text. */
export function verdictText(found, words) {
  const { sign, key, n } = judgement(found);
  return `${sign} ${words.t(`receipt.verdict.${key}`, { n })}`.trim();
}

/** One sentence: the verdict; a second one where outside clients have written. */
export function verdict(found, words) {
  const { batches, acked_records: acked, lost_records: lost } = outsideOf(found);
  return h("p", { key: "verdict", class: `verdict ${judgement(found).tone}` }, verdictText(found, words),
    batches > 0 && ` ${words.t("receipt.verdict.outside", { n: acked, lost })}`);
}

/** Figures of the clients that the lab did not start, by the same words: [[name, n or null]]. Pure. */
export function outsideFigures(found) {
  const told = outsideOf(found);
  const names = ["acked", "lost", "unread", "at_risk", "duplicated", ...(told.removed_records > 0 ? ["removed"] : [])];
  return [["records", told.records], ...names.map((name) => [name, told[`${name}_records`] ?? null])];
}

/** Clients that the lab did not start: what the brokers saw of them. */
function outsiders(found, words) {
  const { batches, records, complete } = outsideOf(found);
  if (!batches) return null;
  const rows = outsideFigures(found);
  return h("section", { key: "outsiders", "data-outside": records, "aria-label": words.t("receipt.outsiders") },
    h("h3", {}, words.t("receipt.outsiders")),
    h("dl", { class: "receipt" }, rows.map(([name, n]) => h("div", { key: name, class: `figure ${n > 0 ? TONE[name] ?? "plain" : "plain"}` },
      h("dt", { title: TOLD.has(name) ? words.t(`receipt.${name}.tip`) : null }, words.t(`receipt.${name}`)),
      h("dd", { class: "number", "data-outside-figure": name }, n === null ? words.t("receipt.unknown") : count(n))))),
    h("p", { class: "hint" }, words.t("receipt.outsiders.note"), !complete && ` ▲ ${words.t("receipt.outsiders.incomplete")}`));
}

function place(view, one, index, named = true) {
  const { words, desk } = view;
  const name = `${one.topic}-${one.partition}`;
  const before = one.last_read ?? one.last_acked;
  const who = before !== undefined
    ? `${one.reader ?? one.process}: ${before} → ${one.offset}`
    : one.outside
      ? words.t("receipt.value.outside", { n: one.last - one.offset + 1 })
      : one.copies !== undefined
        ? words.t("receipt.on_disks", { n: one.copies })
        : one.lastNumber !== undefined
          ? words.t("receipt.values", { producer: one.producer, first: one.number, last: one.lastNumber })
          : one.producer ? words.t("receipt.value", { producer: one.producer, number: one.number }) : String(one.text ?? one.transaction ?? "");
  return h("li", { key: `${one.kind}-${name}-${one.offset}-${index}` },
    h("button", { type: "button", class: "plain", "data-offset": `${name}@${one.offset}`, onclick: () => desk.receipts.goTo(one) },
      named && [h("b", { key: "kind", class: TONE[one.kind] ?? "" }, words.t(`receipt.one.${one.kind}`)), " "],
      h("code", {}, words.t(one.offset === null ? "receipt.at_unknown" : "receipt.at", { partition: name, offset: one.offset })), " ",
      h("span", { class: "hint" }, who)));
}

/** Neighbours as one range: a click shows its records on the stage, where they were lost or written. */
function stretch(view, one, index, named = true) {
  if (one.n < 2 || one.outside || one.offset === null) return place(view, one, index, named);
  const { words, desk } = view;
  const name = `${one.topic}-${one.partition}`;
  return h("li", { key: `${one.kind}-${name}-${one.offset}-${index}` },
    h("button", { type: "button", class: "plain", "data-stretch": `${name}@${one.offset}-${one.last}`, onclick: () => desk.receipts.showStretch(one) },
      named && [h("b", { key: "kind", class: TONE[one.kind] ?? "" }, words.t(`receipt.one.${one.kind}`)), " "],
      h("code", {}, words.t("receipt.range", { partition: name, first: one.offset, last: one.last })), " ",
      h("span", { class: "hint" }, words.t("receipt.range.n", { n: one.n }))));
}

const WHY = { log_appended: "chain.why.written", truncated: "chain.why.cut" };

/** How the first lost record was lost; without a loss, what followed the death of a leader. */
function chain(view) {
  const { words, desk } = view;
  const { place: lost, links } = desk.receipts.loss();
  const found = lost ? links : desk.tour.chain();
  if (found.length < 2) return null;
  const title = lost ? words.t("chain.lost", { partition: `${lost.topic}-${lost.partition}`, offset: lost.offset }) : words.t("chain.title");
  const why = (event) => (lost && WHY[event.code] ? words.t(WHY[event.code]) : words.why(event));
  const when = (event, index) => `${index ? "+" : ""}${words.t("time.now", { t: seconds(index ? event.t - found[0].event.t : event.t) })}`;
  const link = ({ position, event }, index) => h("li", { key: position },
    h("button", { type: "button", class: "plain", onclick: () => view.select(position) },
      h("time", {}, when(event, index)), " ", words.say(event)),
    why(event) && h("p", { class: "why" }, why(event)));
  return h("section", { key: "chain", "aria-label": title },
    h("h3", {}, title),
    h("ol", { class: "chain" }, found.map(link)));
}

/** Each producer in two rows, its name above its figures: that fits a narrow drawer. */
function producers(found, words) {
  const rows = Object.entries(found.producers ?? {});
  if (rows.length < 2) return null;
  const rest = new Set(["aborted", ...["at_risk", "removed"].filter((name) => !(found[name] > 0))]);
  const names = figures(found).map(([name]) => name).filter((name) => !rest.has(name));
  return h("table", { key: "producers", class: "partitions small producers" },
    h("caption", {}, words.t("receipt.by_producer")),
    h("thead", {},
      h("tr", {},
        names.map((name) => h("th", { key: name, scope: "col", class: "number", title: words.t(`receipt.${name}`) },
          words.t(`receipt.column.${name}`))))),
    h("tbody", {}, rows.flatMap(([name, counts]) => [
      h("tr", { key: `${name}:name`, class: "producer-name" },
        h("th", { scope: "rowgroup", colspan: names.length },
          name === OPERATOR ? words.t(outsideOf(found).batches ? "receipt.operator_or_outside" : "receipt.operator") : name)),
      h("tr", { key: name, "data-producer": name },
        names.map((key) => h("td", { key, class: `number ${counts[key] > 0 ? TONE[key] ?? "" : ""}`, "data-count": key },
          count(counts[key] ?? 0)))),
    ])));
}

export function receiptPanel(view) {
  const { words, desk } = view;
  const { found, error, loading, seenT } = desk.receipts;
  const places = found ? placesOf(found).filter((one) => !FURTHER.includes(one.kind)) : [];
  const stretches = stretchesOf(places);
  const all = found ? placesCounted(found, places) : 0;
  const rest = stretches.slice(SHOWN).reduce((sum, { n }) => sum + n, 0) + all - places.length;
  return [
    h("p", { key: "of", class: "hint" },
      words.t("receipt.of", { run: desk.run ?? "" }),
      " ",
      found && !found.finished ? words.t("receipt.until", { t: seconds(seenT) }) : ""),
    error && h("p", { key: "error", class: "none", role: "alert" }, error),
    !found && !error && h("p", { key: "wait", class: "empty", role: "status" }, words.t("receipt.loading")),
    found && verdict(found, words),
    found && receiptTable(found, words, showing(view, found)),
    found && further(found, words, (one, index) => stretch(view, one, index, false)),
    found && outsiders(found, words),
    found && producers(found, words),
    h("div", { key: "acts", class: "run-acts" },
      h("button", { type: "button", "data-receipt": "again", disabled: loading, onclick: desk.receipts.load },
        words.t(loading ? "receipt.loading" : "receipt.again")),
      found && !found.finished && h("button", {
        type: "button", "data-receipt": "read", title: words.t("receipt.read_back.tip"), disabled: view.lookOnly, onclick: desk.receipts.readBack
      }, words.t("receipt.read_back")),
      desk.run && replayButton(view, desk.run)),
    found && !found.finished && !outsideOf(found).batches && h("p", { key: "outside", class: "hint" }, words.t("receipt.outside")),
    chain(view),
    places.length > 0 && h("h3", { key: "where" },
      words.t(all > places.length ? "receipt.where.first" : "receipt.where", { n: places.length, all })),
    places.length > 0 && h("ol", { key: "places", class: "places" }, stretches.slice(0, SHOWN).map((one, index) => stretch(view, one, index))),
    rest > 0 && h("p", { key: "more", class: "hint" }, words.t("receipt.more", { n: rest })),
  ];
}
