/** What just happened: one sentence for each thing, one for why, and the chain of causes. */
import { GLYPHS, Story, namesOf } from "../model/story.js";
import { seconds } from "../i18n/format.js";
import { segments } from "./levers.js";
import { h } from "./patch.js";
import { marked, termsOf } from "./terms.js";

const SHOWN = 60;
const NAMED = 4;
const REASONS = 8; // of the newest items the reason stands below

/** The parameters that describe several events at once. */
function manyOf(item, words) {
  if (item.positions.length < 2) return null;
  const all = namesOf(item, (node) => words.name(node));
  const names = all.slice(0, NAMED);
  const rest = all.length - names.length;
  if (names.length === 1) return { n: item.positions.length, names: names[0] };
  const text = rest > 0 ? words.part("story.others", { names: names.join(", "), n: rest }) : names.join(", ");
  return { n: item.positions.length, names: text };
}

/** An item's sentence. */
export function sentence(item, words) {
  return words.say(item.first, manyOf(item, words));
}

function causes(view, item) {
  const { history, words, story } = view;
  const chain = history.causes(item.positions[0], 12).map((position) => [position, history.at(position)]);
  const told = chain.filter(([, event]) => story.told(event) && event.code !== item.code);
  const found = told.length ? told : chain.slice(0, 1);
  if (!found.length) return null;
  return h("ul", { class: "causes" }, found.slice(0, 3).map(([position, event]) => h("li", { key: position },
    h("button", { type: "button", class: "plain", title: words.say(event), onclick: (click) => { click.stopPropagation(); view.select(position); } },
      `↳ ${words.t("story.because")}: ${words.because(event)}`))));
}

/** The sentence is a button and can hold none: its terms stand below. */
function wordsOf({ words }, text, why) {
  const found = termsOf(words, text, why);
  return found.length > 0 && h("p", { class: "story-words" }, words.t("glossary"), ": ", found.map((one, index) => [index > 0 && ", ", one]));
}

const kept = new WeakMap(); // item -> {words, sign, told}: what is told of it, as long as nothing that it says has changed

/** An item as it was described before, unless it is open: then its causes may have been loaded meanwhile. */
function entry(view, item, index) {
  const chosen = item.positions.includes(view.selected);
  const open = chosen || (view.selected === null && index === 0);
  if (open) return described(view, item, index, { chosen, open });
  const sign = `${item.version} ${index === 0} ${index < REASONS} ${view.words.generation()}`;
  const before = kept.get(item);
  if (before?.words === view.words && before.sign === sign) return before.told;
  const told = described(view, item, index, { chosen, open });
  kept.set(item, { words: view.words, sign, told });
  return told;
}

function described(view, item, index, { chosen, open }) {
  const { words } = view;
  const why = words.why(item.first);
  const choose = () => view.select(item.positions[item.positions.length - 1]);
  return h("li", { key: item.key, class: `item ${item.tone}${chosen || (open && view.clock.live) ? " lit" : ""}` },
    h("button", { type: "button", class: "plain say", tabindex: chosen || (index === 0 && view.selected === null) ? "0" : "-1", onclick: choose },
      h("time", {}, words.t("time.now", { t: seconds(item.first.t) })),
      h("b", { "aria-hidden": "true" }, GLYPHS[item.tone]),
      h("span", {}, sentence(item, words))),
    item.without > 0 && h("p", { class: "why" }, words.t("story.without_controller", { t: seconds(item.without) })),
    why && (open || index < REASONS) && h("p", { class: "why" }, marked(words, why, { reach: open })),
    open && wordsOf(view, sentence(item, words), why),
    open && causes(view, item));
}

export function storyFilter(view) {
  const { words } = view;
  return segments(
    "story", words.t("story.filter"), [["main", words.t("story.main")], ["all", words.t("story.all")]], view.storyAll ? "all" : "main",
    (value) => view.setStoryAll(value === "all"));
}

/** Why there is no story: nothing has happened, or nothing of note since this page has looked. */
function nothing({ history, desk, words }) {
  if (desk.past.complete || history.end - history.begin < 2) return words.t("story.empty");
  return words.t("story.quiet", { t: seconds(history.at(history.begin).t) });
}

/** The event that was chosen is told among `items`, however quiet it is. */
function withChosen({ history, selected, clock }, items) {
  const event = selected === null || selected >= clock.viewed ? null : history.at(selected);
  if (!event || items.some(({ positions }) => positions.includes(selected))) return items;
  const after = items.findIndex(({ positions }) => positions[0] < selected);
  return items.toSpliced(after < 0 ? items.length : after, 0, Story.single(event, selected));
}

/** The newest items first, up to the viewed moment. */
export function storyList(view) {
  const items = withChosen(view, view.story.before(view.clock.viewed, SHOWN, view.storyAll));
  if (!items.length) return [h("li", { key: "empty", class: "empty" }, nothing(view))];
  return items.map((item, index) => entry(view, item, index));
}
