/**
 * The row of one replica: its log from end to end, the cells of its own tail, and who reads it.
 *
 *     ★ orders-0   2696 2697 2698 |····48····| 2747 2748      cells: the same columns on every broker (model/axis.js)
 *                  ▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬▬      bar: the whole log to scale, with readers beneath
 *
 * Cells have the cluster's truth: committed is what any leader's high watermark has covered. What the disk of a broker
 * that is down remembers of it is a thin mark.
 */
import { LETTER, brief, wideAs } from "../draw/letters.js";
import { axisOf, placeOn } from "../model/axis.js";
import { doubledIn, fatesOf } from "../model/fates.js";
import { fingerprint, truthOf } from "../model/figures.js";
import { MOVES, moveOf } from "../model/moves.js";
import { readersOf } from "../model/readers.js";
import { sharesOf } from "../model/shares.js";
import { lastStable } from "../model/transactions.js";
import { bands, markerAt, shareStrip } from "./bands.js";
import { behindDamage, cracks, gates, isDamaged } from "./damage.js";
import { arrivingUntil, lacking } from "./lacking.js";
import { h } from "./patch.js";

/** Heights: of a row at least, at most, with room for its readers, and of one beside such a row; of a card's head. */
export const ROW = { least: 21, most: 60, read: 31, thin: 17, head: 25 };
const TALL = 24; // a row with room for a bar and readers beneath its cells
const LABEL = 76;
const NAME = { letters: 9, wide: 57 }; // the longest name of a replica that is written whole, and the room for it
const PRINT = 46;
const WORDED = 44; // a row with room for a line of words beneath its cells
const PRINTED = 34; // a row with room for a checksum beneath its name
const NARROW = 290; // a card without room for checksums
const MARK = 4.5; // half the width of a reader's mark
const TURN = 1024; // cells of the strip on which a row's cells stand: it moves, they do not

export function shortName(topic, number) {
  const name = `${topic}-${number}`;
  return name.length <= NAME.letters ? name : `${topic.slice(0, Math.max(1, 7 - number.length))}…-${number}`;
}

/** A name that needs all its room has exactly that, whatever the font and its weight. */
const fitted = (name) => (name.length < NAME.letters ? {} : { textLength: NAME.wide, lengthAdjust: "spacingAndGlyphs" });

/**
 * What an offset is on a replica; facts: model/figures.js, `truthOf`. `lost`: the receipt says that the record was lost in the
 * end. It is lost at this moment, too, where the leader does not have it, or where nobody is there who has it.
 */
export function cellKind(offset, log, { end = Infinity, held = null, committed = log.hw, lost = false } = {}) {
  if (offset < log.start) return "gone";
  if (offset >= log.leo) return "hole";
  const astray = offset >= end || (offset >= (log.forked ?? Infinity) && offset < (log.joined ?? Infinity));
  if (lost && (astray || (end === Infinity && offset >= (held ?? 0)))) return "lost";
  if (astray) return "astray";
  return offset < committed ? "committed" : "waiting";
}

/** The axis with what readers wait for: the last stable offset, the start of a share-partition, a batch that cannot be read, however far behind they are. */
function axisIn(state, { topicName, number, partition }, axisWith) {
  const axis = axisWith([]);
  const log = partition.logs[partition.leader];
  const places = [log && partition.transactions ? lastStable(partition, log) : null, ...sharesOf(state, topicName, number).map(({ start }) => start),
    ...readersOf(state, topicName, number).map(({ over, position }) => (over === "damaged" ? position : null))];
  const hidden = places.filter((offset) => offset !== null && offset < axis.end && placeOn(axis, offset) === null);
  return hidden.length ? axisWith(hidden) : axis;
}

/** Where a replica's log becomes another one than the leader's, and where it is the same again. */
const partingsOf = ({ logs }) => Object.values(logs).flatMap(({ forked, joined }) => [forked, joined]).filter((offset) => offset !== undefined);

/** The facts that all rows of a partition share. */
function factsOf(view, number, room) {
  const { topicName, topic } = view;
  const partition = topic.partitions[number];
  const name = `${topicName}-${number}`;
  const { record } = view;
  const fates = fatesOf(view.desk?.receipts?.found ?? null, name);
  const { spot } = view;
  const walks = globalThis.document?.activeElement?.id === "scene-svg"; // who has left the stage holds no record in sight
  const walked = walks && spot?.kind === "replica" && spot.number === number ? spot : null;
  const wanted = [
    walked?.offset ?? null, record && record.name === name ? record.offset : null,
    name === view.chosen ? view.litOffset : null].filter((offset) => offset !== null);
  const truth = truthOf(view.state, partition);
  const coming = Object.entries(partition.logs).map(([id, log]) => arrivingUntil(view, name, id, log));
  const gone = truth.held === null ? truth.committed : 0; // nobody is there: what was committed is missed by all
  return {
    partition, name, number,
    axis: axisIn(view.state, { topicName, number, partition }, (more) => axisOf(
      partition, room, [...wanted, ...more], [...fates.borders, ...partingsOf(partition), ...behindDamage(partition), ...coming], gone)),
    fates, ...truth,
    lit: name === view.chosen ? view.litOffset : null, record: record?.name === name ? record : null, walked,
  };
}

function cellText(view, facts, column, kind) {
  const { from } = column;
  if (view.cellText === "offset") return String(from);
  const shown = kind === "lost" || kind === "astray" ? null : view.records.text(facts.name, from, view.cellText);
  if (shown === undefined || shown === null) return "·";
  const most = Math.max(2, Math.floor((column.w - 3) / LETTER));
  const told = shown.replace(/\.{3,}$/, ""); // what a built-in producer fills its values up with
  return told.length <= most ? told : told.slice(-most); // the end tells them apart
}

/** Opens the record under the finger as it came down: while records come, others are there before it goes up. */
function openPressed(view, own) {
  const [name, offset, id] = (view.pressed ?? own).split("@");
  view.pressed = null;
  view.openRecord(name, Number(offset), Number(id));
}

function oneCell(view, facts, log, column, id, x, y, tall) {
  const { from } = column;
  const kind = cellKind(from, log, { ...facts, lost: facts.fates.lost.has(from) });
  const lit = from === facts.lit;
  const chosen = facts.record?.offset === from && facts.record.broker === id;
  const walked = facts.walked?.offset === from && facts.walked.name === String(id);
  const marker = markerAt(facts, log, from);
  const times = Math.max(facts.fates.doubled.get(from) ?? 1, facts.doubled.get(from) ?? 1);
  const behind = facts.fates.reordered.has(from);
  const left = x + column.x;
  const middle = left + column.w / 2 - 0.5;
  const record = `${facts.name}@${from}@${id}`;
  const open = (event) => {
    event.stopPropagation();
    openPressed(view, record);
  };
  return [
    h("rect", {
      key: `c${from}`,
      class: `cell ${kind}${marker ? ` marker ${marker[0]}` : ""}${isDamaged(log, from) ? " damaged" : ""}${lit ? " lit" : ""}${chosen ? " opened" : ""}${walked ? " spot" : ""}`,
      "data-cell": lit ? from : null, "data-record": record, x: left + 0.5, y: y + 0.5, width: column.w - 2,
      height: tall, rx: 2.5, onclick: open
    }),
    h("text", { key: `t${from}`, class: `cell-text ${kind}${marker ? " marker" : ""}`, x: middle, y: y + tall / 2 + 4.5 },
      marker ? marker[1] : cellText(view, facts, column, kind)),
    kind === "lost" && h("line", { key: `x${from}`, class: "cell-cross", x1: left + 3, x2: left + column.w - 4, y1: y + tall - 2, y2: y + 3 }),
    times > 1 && h("text", { key: `n${from}`, class: "cell-sign", x: left + column.w - 1, y: y + 3 }, `×${times}`),
    behind && h("text", { key: `r${from}`, class: "cell-sign", x: left + column.w - 1, y: y + 3 }, "⇄"),
  ];
}

const wideIn = (text) => wideAs(text.replaceAll("…", "."));

/** What a fold has of a log: how wide, and how many it stands for, as words that are no offset where there is room for them. */
function folded({ words }, { from, to, w }, log) {
  const end = Math.min(to, log.leo);
  const wide = ((w - 2) * (end - from)) / (to - from);
  const n = brief(end - from, wide - 4);
  const text = [words.t("stage.folded", { n }), `…${n}…`, `…${n}`, n].find((one) => wide > wideIn(one) + 2) ?? "";
  return { end, wide, text };
}

/** Whether the place `at` of a row is on the number of a fold. */
function onNumber(view, { axis }, log, at) {
  return axis.columns.some((column) => {
    if (column.to - column.from < 2 || column.from >= log.leo || at < column.x || at > column.x + column.w) return false;
    const { wide, text } = folded(view, column, log);
    return text !== "" && Math.abs(column.x + wide / 2 - at) < wideIn(text) / 2 + 3;
  });
}

/** A fold: its offsets as slivers where they have room, else as a block with their number. */
function fold(view, facts, log, column, id, x, y, tall) {
  const { from, to, x: at, w } = column;
  const { end, wide, text } = folded(view, column, log);
  if (end <= from) return null;
  const lost = facts.fates.lost.has(from) || facts.fates.lost.has(end - 1);
  const kind = cellKind(end - 1, log, { ...facts, lost });
  const left = x + at + 0.5;
  const step = (w - 2) / (to - from);
  const open = (event) => {
    event.stopPropagation();
    view.openRecord(facts.name, from, id);
  };
  const parts = step >= 2.2 ? Array.from({ length: end - from }, (_, n) => `M${(left + n * step + step / 2).toFixed(1)} ${y + 1.5}v${tall - 2}`).join("") : "";
  return [
    h("rect", { key: `f${from}`, class: `cell fold ${kind}`, x: left, y: y + 0.5, width: wide, height: tall, rx: 2.5, onclick: open },
      h("title", {}, `${from} … ${end - 1}`)),
    parts && h("path", { key: `s${from}`, class: `slivers ${kind}`, d: parts, "stroke-width": Math.max(1, step * 0.34).toFixed(1) }),
    text && h("text", {
      key: `ft${from}`, class: `cell-text fold-text ${kind}${parts ? "" : " plain"}`, x: left + wide / 2, y: y + tall / 2 + 4.5
    }, text),
  ];
}

function cells(view, facts, log, id, x, y, tall) {
  const { axis } = facts;
  const begin = ((axis.columns[0]?.from ?? 0) % TURN) * axis.cell; // where the first column stands on its strip
  const found = axis.columns.map((column) => {
    if (column.from >= log.leo || column.from < log.start) return null;
    return (column.to - column.from > 1 ? fold : oneCell)(view, facts, log, column, id, begin, y, tall);
  });
  const at = placeOn(axis, log.hw);
  const down = view.state.brokers[id]?.state === "stopped";
  const ends = at !== null && onNumber(view, facts, log, at); // a stroke through a figure would make it unreadable
  const mark = at === null || (log.hw === 0 && !down)
    ? null
    : h("path", {
      key: "hw", class: down ? "hw ghost" : "hw",
      d: ends ? `M${x + at - 1} ${y - 2}v5M${x + at - 1} ${y + tall - 2}v5` : `M${x + at - 1} ${y - 2}V${y + tall + 3}`
    },
    h("title", {}, view.words.t(down ? "stage.ghost" : "stage.legend.hw_at", { hw: log.hw })));
  return [
    h("g", { key: "cells", rolling: true, transform: `translate(${(x - begin).toFixed(1)} 0)` }, found),
    lacking(view, facts, log, id, { x, y, tall }), mark,
    cracks(view, facts, log, id, { x, y, tall }, (from) => cellText(view, facts, axis.columns.find((one) => one.from === from), ""))];
}

/**
 * Ranges of lost records whose offsets hold others by now: [[from, last]]. At the live edge what the receipt calls lost is
 * lost; in the past it is from the election on that has given the offsets out again.
 */
export function replacedIn({ ranges }, log, facts, live) {
  const since = live ? 0 : facts.partition.cut ?? Infinity;
  return ranges.filter(([from]) => from >= since && from < log.leo && from >= log.start && cellKind(from, log, { ...facts, lost: true }) !== "lost");
}

/** Brackets below the offsets whose records were lost: others stand there. */
function replaced(view, facts, log, x, y, worded) {
  return replacedIn(facts.fates, log, facts, view.clock?.live ?? true).map(([from, last]) => {
    const end = placeOn(facts.axis, Math.min(last + 1, log.leo));
    if (!end) return null;
    const begin = placeOn(facts.axis, from) ?? 0;
    const [left, right] = [x + begin + 1, x + end - 2];
    const text = view.words.t("stage.replaced", { n: last - from + 1 });
    const wide = text.length * LETTER;
    const at = Math.max(x + wide / 2, Math.min((left + right) / 2, x + facts.axis.width - wide / 2));
    return h("g", { key: `replaced ${from}`, class: "replaced", "data-replaced": `${facts.name}@${from}-${last}` }, h("title", {}, text),
      h("path", { d: `M${left.toFixed(1)} ${y}v4H${right.toFixed(1)}v-4` }),
      worded && wide < facts.axis.width && h("text", { x: at.toFixed(1), y: y + 16 }, text));
  });
}

/** The whole log to scale: committed, not committed, not on the leader; dashed up to the longest replica's end. */
function bar(view, facts, log, id, x, y, wide, thick) {
  const { axis, committed, end } = facts;
  const least = Math.min(axis.start, log.start);
  const scale = (offset) => (axis.end > least ? ((Math.max(least, Math.min(axis.end, offset)) - least) / (axis.end - least)) * wide : 0);
  const astray = Math.min(log.leo, end, log.forked ?? Infinity);
  const part = (kind, from, to, key = kind) => to > from && h("rect", {
    key, class: `log-bar ${kind}`, x: (x + scale(from)).toFixed(1), y, width: Math.max(1, scale(to) - scale(from)).toFixed(1),
    height: thick
  });
  const down = view.state.brokers[id]?.state === "stopped";
  const lost = facts.fates.ranges.filter(([from]) => from < log.leo && cellKind(from, log, { ...facts, lost: true }) === "lost");
  return {
    scale,
    parts: [
      h("rect", { key: "ground", class: "log-bar hole", x: x + 0.5, y: y + 0.5, width: Math.max(0, wide - 1), height: thick - 1 }),
      part("committed", log.start, Math.min(committed, astray)), part("waiting", Math.max(log.start, Math.min(committed, astray)), astray),
      part("astray", astray, Math.min(log.leo, log.joined ?? Infinity)),
      log.joined < log.leo && part("committed", log.joined, log.leo, "joined"),
      lost.map(([from, last]) => part("astray", from, Math.min(last + 1, log.leo), `lost ${from}`)),
      h("line", {
        key: "mark", class: down ? "hw ghost" : "hw bar-hw", x1: x + scale(log.hw), x2: x + scale(log.hw), y1: y - 2, y2: y + thick + 2
      }, h("title", {}, view.words.t(down ? "stage.ghost" : "stage.legend.hw_at", { hw: log.hw }))),
    ],
  };
}

/**
 * Where the marks and the names of readers stand on a log that begins at `x`: each with {at, end, sign, left}. Names keep off all
 * marks and one another; `left` is null where there is no room before `edge`. `nobody`: what is said of nobody, the shortest last. Pure.
 */
export function readerPlaces(found, scale, x, nobody, edge = Infinity) {
  const fits = ({ at, end }, sign) => at - x > wideAs(sign) + MARK || Math.max(at, end) + MARK + 3 + wideAs(sign) <= edge;
  const shown = found.map((one) => ({ ...one, from: one.committed ?? one.position })).filter(({ from }) => from !== null).map((one) => ({
    ...one, at: x + scale(one.from), end: x + scale(one.from + (one.lag ?? 0))
  })).map((one) => ({ ...one, sign: one.reading ? `${one.over ? "✕ " : ""}${one.badge ?? "?"}` : nobody.find((sign) => fits(one, sign)) ?? nobody.at(-1) }));
  const taken = shown.map(({ at }) => [at - MARK, at + MARK]);
  return shown.map((one) => {
    const wide = wideAs(one.sign);
    const leftwards = one.at - x > wide + MARK;
    let left = leftwards ? one.at - MARK - 2 - wide : Math.max(one.at, one.end) + MARK + 3;
    const touched = () => taken.find(([from, to]) => left < to && from < left + wide);
    for (let other = touched(); other; other = touched()) left = leftwards ? other[0] - 3 - wide : other[1] + 3;
    taken.push([left, left + wide]);
    return { ...one, left: leftwards ? (left < x ? null : left) : left + wide > edge ? null : left };
  });
}

/**
 * Readers on the log that they read: ▲ committed offset, △ position, and from ▲ on the lag as a length up to the high watermark,
 * hollow as far as it has read. Where a row has no room for their names beneath its cells, these stand behind its end.
 */
function readers(view, facts, found, scale, x, y, deep) {
  const { words } = view;
  const names = deep ? "" : found.filter(({ reading }) => reading).map(({ badge }) => badge ?? "?").join("");
  const end = x + (facts?.axis.width ?? 0) + 2;
  const behind = names && end + wideAs(names) <= facts.tail && h("text", { key: "behind", class: "reader-name", x: end, y }, names);
  return [behind, readerPlaces(found, scale, x, ["stage.nobody_reads", "stage.nobody"].map((key) => words.t(key)), facts?.edge).map((one) => {
    const { group, member, committed, position, reading, lag, from, at, end, sign, left } = one;
    const read = position === null ? at : x + scale(position); // so far it has read, and not committed it yet
    const told = words.t(reading ? "stage.reader" : "stage.reader_none", {
      group, member: member ?? "", committed: committed ?? "–", position: position ?? "–", lag: lag ?? 0
    });
    const how = !reading ? " nobody" : one.over ? " over" : "";
    return h("g", { key: `reader:${group}:${member}`, class: `reader${how}`, "data-reader": `${group}:${facts.name}` },
      h("title", {}, told),
      end > at + 1 && h("line", { key: "lag", class: "lag", x1: at, x2: end, y1: y + 4.5, y2: y + 4.5 }),
      read > at + 1 && h("line", { key: "read", class: "read", x1: at, x2: read, y1: y + 4.5, y2: y + 4.5 }),
      h("path", { key: "at", class: "at", d: `M${at.toFixed(1)} ${y}l${MARK} 7h${-2 * MARK}z` }),
      position !== null && position !== from && h("path", {
        key: "position", class: "position", d: `M${read.toFixed(1)} ${y}l${MARK} 7h${-2 * MARK}z`
      }),
      deep && left !== null && h("text", { key: "who", class: "reader-name", x: left, y: y + 9 }, sign));
  })];
}

/** The keyboard's way to the records: the leader's row of the chosen partition opens its last one. */
function opensEnd(view, { name, id, log, leads, mine, chosen }) {
  if (!mine || !leads || name !== chosen || log.leo <= log.start) return {};
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    view.openRecord(name, log.leo - 1, id);
  };
  return { role: "button", tabindex: "0", "aria-label": view.words.t("stage.open_last", { partition: name, broker: id }), onkeydown: press };
}

const checksum = (print, deep, x, y) => h("text", { key: "print", class: `print${print.differs ? " differs" : ""}${deep}`, x, y },
  print.differs ? `≠ ${print.text}` : print.text);

const lastName = (directory) => directory.split("/").at(-1);

/** In which log directory a replica lies: `▤ data/a`, or `▤ a → b` while a copy grows in another one. */
function directorySign({ words }, { directory, moving }, x, y) {
  const whole = moving ? `${lastName(directory)} → ${lastName(moving)}` : directory;
  const text = whole.length <= 7 ? whole : `…${whole.slice(-6)}`;
  return h("text", { key: "directory", class: "print deep", "data-lies-in": directory, x, y }, `▤ ${text}`,
    h("title", {}, words.t(moving ? "stage.moves_to" : "stage.lies_in", { directory, moving: moving ?? "" })));
}

/** Below a replica's name: what a reassignment does with it, a checksum that differs, its log directory, or that of its last batch. */
function underName(view, { moves, print, log, x, y }) {
  if (moves) return h("text", { key: "moves", class: "print deep moves", x, y }, view.words.t(`stage.${moves}`));
  if (log.directory && !print?.differs) return directorySign(view, log, x, y);
  return print && checksum(print, " deep", x, y);
}

/** The row of `number` in the card `box`, `tall` pixels high and `top` below its upper edge; a replica that is not there says so. */
export function replicaRow(view, box, number, { tall, top, alone }) {
  const { topicName, topic, words, chosen, state } = view;
  const partition = topic.partitions[number];
  const id = Number(box.id);
  const y = box.y + top;
  const x = box.x + 18 + LABEL;
  const deep = tall >= TALL;
  const cell = deep ? Math.max(12, Math.min(24, tall - 17)) : Math.max(12, tall - 6);
  const base = y + cell / 2 + 4.5;
  const name = `${topicName}-${number}`;
  const mine = partition.replicas.includes(id);
  const leads = partition.leader === id;
  const moves = mine ? moveOf(partition, id) : null;
  const glyph = !mine ? " " : leads ? "★" : moves ? MOVES[moves] : partition.isr.includes(id) ? "•" : "▽";
  const print = mine && box.w >= NARROW ? fingerprint(partition, box.id) : null;
  const below = tall >= PRINTED;
  const aside = print && !below && print.differs ? PRINT : 0;
  if (print && (below || aside)) view.scene.printed = true;
  const room = box.w - 30 - LABEL - aside;
  const log = partition.logs[box.id] ?? { leo: 0, hw: 0, start: 0 };
  const edge = box.x + box.w - 6;
  const facts = mine ? { ...factsOf(view, number, Math.max(60, room)), doubled: doubledIn(log), edge, tail: edge + 3 - aside } : null;
  const wide = facts?.axis.width ?? 0;
  const thick = tall >= 28 ? 3 : 2;
  const under = y + cell + 2;
  const whole = mine && facts.axis.end > 0 ? bar(view, facts, log, id, x, under, wide, thick) : null;
  const readFrom = mine && whole
    ? readersOf(state, topicName, number).filter((reader) => (state.clients[reader.member]?.reads_from?.[topicName]?.[number]
      ?? partition.leader) === id)
    : [];
  return h("g", {
    key: name,
    class: `replica${name === chosen ? " chosen" : ""}${alone ? " alone" : ""}${leads ? " leads" : ""}${mine ? "" : " none"}${view.spot?.kind === "replica" && view.spot.number === number && view.spot.name === box.id ? " spot" : ""}`,
    "data-replica": `${name}@${box.id}`, ...opensEnd(view, { name, id, log, leads, mine, chosen }),
    onpointerdown: ({ target }) => { view.pressed = target.closest("[data-record]")?.dataset.record ?? null; },
    onclick: () => (view.pressed ? openPressed(view) : view.choose(topicName, number))
  },
    h("rect", { class: "row-ground", x: box.x + 12, y: y - 3, width: box.w - 18, height: tall - 1, rx: 4 }),
    h("text", { class: "glyph", x: box.x + 22, y: base }, glyph),
    h("text", { class: "row-name", x: box.x + 32, y: base, ...fitted(shortName(topicName, number)) }, shortName(topicName, number)),
    mine ? cells(view, facts, log, id, x, y, cell) : h("text", { class: "row-note", x, y: base }, words.t("stage.no_replica")),
    whole?.parts,
    whole && bands(view, facts, log, { x, y, cell, tall }),
    whole && leads && deep && shareStrip(view, facts, { x, y: under + thick + 3, tall, topic: topicName, number }),
    whole && replaced(view, facts, log, x, under + thick + 2, tall >= WORDED && (leads || partition.leader < 0)),
    readers(view, facts, readFrom, whole?.scale, x, deep ? under + thick : under - 4, deep),
    mine && gates(view, facts, log, readFrom, { x, y, tall: cell }),
    below ? underName(view, { moves, print, log, x: box.x + 32, y: Math.min(base + 14, y + tall - 4) })
      : print && aside > 0 && checksum(print, "", box.x + box.w - 10, base));
}
