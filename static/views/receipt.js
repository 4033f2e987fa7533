/** The receipt: what was acknowledged, read, lost, doubled, out of order; and where. What else is odd is folded beneath. */
import { count, seconds } from "../i18n/format.js";
import { h } from "./patch.js";
import { replayButton } from "./spark/buttons.js";

const SHOWN = 40;
const FEW = 6;
const TONE = { lost: "bad", unseen: "plain", duplicated: "warn", reordered: "warn" };

/** Counted from another side than the five figures, often the same records once more: never to be added to them. */
const FURTHER = ["inconsistent", "failed_read", "nonmonotonic_send", "stale"];

/** Five figures of a receipt, or of one of its producers. In a run that goes on, what nobody has read yet is told apart from what is lost. Pure. */
export function figures(found, finished = found.finished) {
  const unseen = finished ? 0 : found.unseen ?? 0;
  const rows = [["acked", found.acked], ["read", found.read], ["lost", found.lost - unseen], ["duplicated", found.duplicated], ["reordered", found.reordered]];
  if (!finished) rows.splice(3, 0, ["unseen", unseen]);
  return rows;
}

const NOBODY = { batches: 0, records: 0, acked_records: 0, lost_records: 0, places: [], complete: true };

/** What the brokers saw of clients that the lab did not start. Pure. */
export const outsideOf = (found) => ({ ...NOBODY, ...found.outside });

/** Places of a receipt, one kind after another: [{kind, ...place}]. Pure. */
export function placesOf(found) {
  const all = [];
  for (const [name, places] of Object.entries(found.places ?? {})) {
    for (const place of places) all.push({ ...place, kind: name === "lost" && !found.finished && place.test === "unseen" ? "unseen" : name });
  }
  for (const place of outsideOf(found).places) all.push({ ...place, kind: "lost", outside: true });
  const order = ["lost", "duplicated", "reordered", ...FURTHER, "unseen"];
  return all.sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));
}

export function receiptTable(found, words) {
  return h("dl", { class: "receipt" }, figures(found).map(([name, n]) => h("div", { key: name, class: `figure ${n > 0 ? TONE[name] ?? "plain" : "plain"}` },
    h("dt", {}, words.t(`receipt.${name}`)), h("dd", { class: "number", "data-figure": name }, count(n)))));
}

/** What else was found: [{kind, n, key}]; `key` names the sentence that says what it means, beside a loss another one. Pure. */
export function furtherOf(found) {
  const lost = found.inconsistent <= Object.fromEntries(figures(found)).lost;
  return FURTHER.filter((kind) => found[kind] > 0).map((kind) => ({ kind, n: found[kind], key: kind === "inconsistent" && lost ? "receipt.further.inconsistent_lost" : `receipt.further.${kind}` }));
}

/** The further findings, folded: each with a sentence, and where `placed` draws one, with its places. */
export function further(found, words, placed = null) {
  const rows = furtherOf(found);
  if (!rows.length) return null;
  const places = placed ? placesOf(found) : [];
  return h("details", { key: "further", class: "further" },
    h("summary", {}, words.t("receipt.further", { what: rows.map(({ kind, n }) => `${words.t(`receipt.one.${kind}`)} ${count(n)}`).join(" · ") })),
    rows.map(({ kind, n, key }) => {
      const mine = places.filter((one) => one.kind === kind);
      return h("section", { key: kind, "data-further": kind, "data-count": n },
        h("h4", {}, words.t(`receipt.one.${kind}`), " ", h("span", { class: "number" }, count(n))),
        h("p", { class: "hint" }, words.t(key)),
        mine.length > 0 && h("ol", { class: "places" }, mine.slice(0, FEW).map(placed)),
        mine.length > FEW && h("p", { class: "hint" }, words.t("receipt.more", { n: n - FEW })));
    }));
}

/**
 * {tone, sign, key, n} of the verdict, over the lab's own clients and those from outside. Pure.
 *
 * A record that was read before its log was cut counts as read, not as lost; two values at one offset show that it is gone.
 */
export function judgement(found) {
  const outside = outsideOf(found);
  const lost = Object.fromEntries(figures(found)).lost + outside.lost_records;
  if (lost > 0) return { tone: "bad", sign: "✕", key: "lost", n: lost };
  if (found.inconsistent > 0) return { tone: "warn", sign: "▲", key: "replaced", n: found.inconsistent };
  if (found.duplicated > 0) return { tone: "warn", sign: "▲", key: "duplicated", n: found.duplicated };
  if (!found.acked && !outside.acked_records) return { tone: "", sign: "", key: "nothing", n: 0 };
  return { tone: "good", sign: "✓", key: found.finished || !found.unseen ? "good" : "so_far", n: found.unseen };
}

/** One sentence: the verdict; a second one where outside clients have written. */
export function verdict(found, words) {
  const { tone, sign, key, n } = judgement(found);
  const { batches, acked_records: acked, lost_records: lost } = outsideOf(found);
  return h("p", { key: "verdict", class: `verdict ${tone}` }, sign && `${sign} `, words.t(`receipt.verdict.${key}`, { n }),
    batches > 0 && ` ${words.t("receipt.verdict.outside", { n: acked, lost })}`);
}

/** Clients that the lab did not start: what the brokers saw of them. */
function outsiders(found, words) {
  const { batches, records, acked_records: acked, lost_records: lost, complete } = outsideOf(found);
  if (!batches) return null;
  const rows = [["records", records], ["acked", acked], ["lost", lost]];
  return h("section", { key: "outsiders", "data-outside": records, "aria-label": words.t("receipt.outsiders") },
    h("h3", {}, words.t("receipt.outsiders")),
    h("dl", { class: "receipt" }, rows.map(([name, n]) => h("div", { key: name, class: `figure ${n > 0 ? TONE[name] ?? "plain" : "plain"}` },
      h("dt", {}, words.t(`receipt.${name}`)), h("dd", { class: "number", "data-outside-figure": name }, count(n))))),
    h("p", { class: "hint" }, words.t("receipt.outsiders.note"), !complete && ` ▲ ${words.t("receipt.outsiders.incomplete")}`));
}

function place(view, one, index, named = true) {
  const { words, desk } = view;
  const name = `${one.topic}-${one.partition}`;
  const before = one.last_read ?? one.last_acked;
  const who = before !== undefined ? `${one.reader ?? one.process}: ${before} → ${one.offset}` : one.outside ? words.t("receipt.value.outside", { n: one.last - one.offset + 1 }) : one.producer ? words.t("receipt.value", { producer: one.producer, number: one.number }) : String(one.text ?? "");
  return h("li", { key: `${one.kind}-${name}-${one.offset}-${index}` },
    h("button", { type: "button", class: "plain", "data-offset": `${name}@${one.offset}`, onclick: () => desk.receipts.goTo(one) },
      named && [h("b", { key: "kind", class: TONE[one.kind] ?? "" }, words.t(`receipt.one.${one.kind}`)), " "], h("code", {}, words.t("receipt.at", { partition: name, offset: one.offset })), " ", h("span", { class: "hint" }, who)));
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
  return h("section", { key: "chain", "aria-label": title },
    h("h3", {}, title),
    h("ol", { class: "chain" }, found.map(({ position, event }, index) => h("li", { key: position },
      h("button", { type: "button", class: "plain", onclick: () => view.select(position) },
        h("time", {}, index ? `+${seconds(event.t - found[0].event.t)} s` : `${seconds(event.t)} s`), " ", words.say(event)),
      why(event) && h("p", { class: "why" }, why(event))))));
}

/** Each producer in two rows, its name above its figures: that fits a narrow drawer. */
function producers(found, words) {
  const rows = Object.entries(found.producers ?? {});
  if (rows.length < 2) return null;
  const names = figures(rows[0][1], found.finished).map(([name]) => name);
  return h("table", { key: "producers", class: "partitions small producers" },
    h("caption", {}, words.t("receipt.by_producer")),
    h("thead", {}, h("tr", {}, names.map((name) => h("th", { key: name, scope: "col", class: "number", title: words.t(`receipt.${name}`) }, words.t(`receipt.column.${name}`))))),
    h("tbody", {}, rows.flatMap(([name, counts]) => [
      h("tr", { key: `${name}:name`, class: "producer-name" }, h("th", { scope: "rowgroup", colspan: names.length }, name === "operator" ? words.t(outsideOf(found).batches ? "receipt.operator_or_outside" : "receipt.operator") : name)),
      h("tr", { key: name, "data-producer": name }, figures(counts, found.finished).map(([key, n]) => h("td", { key, class: `number ${n > 0 ? TONE[key] ?? "" : ""}`, "data-count": key }, count(n)))),
    ])));
}

export function receiptPanel(view) {
  const { words, desk } = view;
  const { found, error, loading, seenT } = desk.receipts;
  const places = found ? placesOf(found).filter((one) => one.kind !== "unseen" && !FURTHER.includes(one.kind)) : [];
  return [
    h("p", { key: "of", class: "hint" }, words.t("receipt.of", { run: desk.run ?? "" }), " ", found && !found.finished ? words.t("receipt.until", { t: seconds(seenT) }) : ""),
    error && h("p", { key: "error", class: "none", role: "alert" }, error),
    !found && !error && h("p", { key: "wait", class: "empty", role: "status" }, words.t("receipt.loading")),
    found && verdict(found, words),
    found && receiptTable(found, words),
    found && further(found, words, (one, index) => place(view, one, index, false)),
    found && outsiders(found, words),
    found && producers(found, words),
    h("div", { key: "acts", class: "run-acts" },
      h("button", { type: "button", "data-receipt": "again", disabled: loading, onclick: desk.receipts.load }, words.t(loading ? "receipt.loading" : "receipt.again")),
      found && !found.finished && h("button", { type: "button", "data-receipt": "read", title: words.t("receipt.read_back.tip"), onclick: desk.receipts.readBack }, words.t("receipt.read_back")),
      desk.run && replayButton(view, desk.run)),
    found && !found.finished && !outsideOf(found).batches && h("p", { key: "outside", class: "hint" }, words.t("receipt.outside")),
    chain(view),
    places.length > 0 && h("h3", { key: "where" }, words.t("receipt.where", { n: places.length })),
    places.length > 0 && h("ol", { key: "places", class: "places" }, places.slice(0, SHOWN).map((one, index) => place(view, one, index))),
    places.length > SHOWN && h("p", { key: "more", class: "hint" }, words.t("receipt.more", { n: places.length - SHOWN })),
  ];
}
