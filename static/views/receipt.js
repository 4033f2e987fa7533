/** The receipt: what was acknowledged, read, lost, doubled, out of order; and where. */
import { count, seconds } from "../i18n/format.js";
import { h } from "./patch.js";
import { replayButton } from "./spark/buttons.js";

const SHOWN = 40;
const TONE = { lost: "bad", unseen: "plain", duplicated: "warn", reordered: "warn" };

/** Five figures of a receipt. In a run that goes on, what nobody has read yet is told apart from what is lost. Pure. */
export function figures(found) {
  const lost = found.finished ? found.lost : found.lost_writes;
  const rows = [["acked", found.acked], ["read", found.read], ["lost", lost], ["duplicated", found.duplicated], ["reordered", found.reordered]];
  if (!found.finished) rows.splice(3, 0, ["unseen", found.unseen]);
  return rows;
}

/** Places of a receipt, one kind after another: [{kind, ...place}]. Pure. */
export function placesOf(found) {
  const all = [];
  for (const [name, places] of Object.entries(found.places ?? {})) {
    for (const place of places) all.push({ ...place, kind: name === "lost" && !found.finished && place.test === "unseen" ? "unseen" : name });
  }
  const order = ["lost", "duplicated", "reordered", "inconsistent", "failed_read", "unseen"];
  return all.sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));
}

export function receiptTable(found, words) {
  return h("dl", { class: "receipt" }, figures(found).map(([name, n]) => h("div", { key: name, class: `figure ${n > 0 ? TONE[name] ?? "plain" : "plain"}` },
    h("dt", {}, words.t(`receipt.${name}`)), h("dd", { class: "number", "data-figure": name }, count(n)))));
}

/** One sentence: the verdict. */
export function verdict(found, words) {
  const lost = found.finished ? found.lost : found.lost_writes;
  if (lost > 0) return h("p", { key: "verdict", class: "verdict bad" }, "✕ ", words.t("receipt.verdict.lost", { n: lost }));
  if (found.duplicated > 0) return h("p", { key: "verdict", class: "verdict warn" }, "▲ ", words.t("receipt.verdict.duplicated", { n: found.duplicated }));
  if (!found.acked) return h("p", { key: "verdict", class: "verdict" }, words.t("receipt.verdict.nothing"));
  return h("p", { key: "verdict", class: "verdict good" }, "✓ ", words.t(found.finished || !found.unseen ? "receipt.verdict.good" : "receipt.verdict.so_far", { n: found.unseen }));
}

function place(view, one, index) {
  const { words, desk } = view;
  const name = `${one.topic}-${one.partition}`;
  const who = one.producer ? words.t("receipt.value", { producer: one.producer, number: one.number }) : String(one.text ?? "");
  return h("li", { key: `${one.kind}-${name}-${one.offset}-${index}` },
    h("button", { type: "button", class: "plain", "data-offset": `${name}@${one.offset}`, onclick: () => desk.receipts.goTo(one) },
      h("b", { class: TONE[one.kind] ?? "" }, words.t(`receipt.one.${one.kind}`)), " ", h("code", {}, words.t("receipt.at", { partition: name, offset: one.offset })), " ", h("span", { class: "hint" }, who)));
}

function chain(view) {
  const { words, desk } = view;
  const found = desk.tour.chain();
  if (found.length < 2) return null;
  return h("section", { key: "chain", "aria-label": words.t("chain.title") },
    h("h3", {}, words.t("chain.title")),
    h("ol", { class: "chain" }, found.map(({ position, event }, index) => h("li", { key: position },
      h("button", { type: "button", class: "plain", onclick: () => view.select(position) },
        h("time", {}, index ? `+${seconds(event.t - found[0].event.t)} s` : `${seconds(event.t)} s`), " ", words.say(event)),
      words.why(event) && h("p", { class: "why" }, words.why(event))))));
}

function producers(found, words) {
  const rows = Object.entries(found.producers ?? {});
  if (rows.length < 2) return null;
  return h("table", { key: "producers", class: "partitions small" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, words.t("stage.producer")), ["acked", "read", "lost", "duplicated", "reordered"].map((name) => h("th", { key: name, scope: "col", class: "number" }, words.t(`receipt.${name}`))))),
    h("tbody", {}, rows.map(([name, counts]) => h("tr", { key: name }, h("th", { scope: "row" }, name), ["acked", "read", "lost", "duplicated", "reordered"].map((key) => h("td", { key, class: "number" }, count(counts[key])))))));
}

export function receiptPanel(view) {
  const { words, desk } = view;
  const { found, error, loading, seenT } = desk.receipts;
  const places = found ? placesOf(found).filter((one) => one.kind !== "unseen") : [];
  return [
    h("p", { key: "of", class: "hint" }, words.t("receipt.of", { run: desk.run ?? "" }), " ", found && !found.finished ? words.t("receipt.until", { t: seconds(seenT) }) : ""),
    error && h("p", { key: "error", class: "none", role: "alert" }, error),
    !found && !error && h("p", { key: "wait", class: "empty", role: "status" }, words.t("receipt.loading")),
    found && verdict(found, words),
    found && receiptTable(found, words),
    found && producers(found, words),
    h("div", { key: "acts", class: "run-acts" },
      h("button", { type: "button", "data-receipt": "again", disabled: loading, onclick: desk.receipts.load }, words.t(loading ? "receipt.loading" : "receipt.again")),
      found && !found.finished && h("button", { type: "button", "data-receipt": "read", title: words.t("receipt.read_back.tip"), onclick: desk.receipts.readBack }, words.t("receipt.read_back")),
      desk.run && replayButton(view, desk.run)),
    found && !found.finished && h("p", { key: "outside", class: "hint" }, words.t("receipt.outside")),
    chain(view),
    places.length > 0 && h("h3", { key: "where" }, words.t("receipt.where", { n: places.length })),
    places.length > 0 && h("ol", { key: "places", class: "places" }, places.slice(0, SHOWN).map((one, index) => place(view, one, index))),
    places.length > SHOWN && h("p", { key: "more", class: "hint" }, words.t("receipt.more", { n: places.length - SHOWN })),
  ];
}
