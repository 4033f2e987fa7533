/** The handle of a link on the stage, and what can be done there: the levers of a link, on the link. */
import { APART, faultsOf } from "../draw/links.js";
import { linkSign } from "../draw/signs.js";
import { LINKS, NARROW, SHARE } from "./mischief.js";
import { h } from "./patch.js";
import { curve } from "./ways.js";

const SLOW_MS = 100;
const SLOW = { delay_link: { delay_ms: SLOW_MS } };
const FIGURES = {
  delay_link: `${SLOW_MS} ms`, drop_link: `${100 * SHARE} %`, duplicate_link: `${100 * SHARE} %`, reorder_link: `${100 * SHARE} %`,
  bandwidth_link: `${NARROW / 1000} kB/s`
};

/** "broker 1 ↔ broker 2". */
export const linkTitle = (name, words) => name.split("~").map((node) => words.name(node)).join(" ↔ ");

/** What a link does to its messages, in both directions. */
export function linkText(state, name, words) {
  const signs = [...new Set(faultsOf(state, name.split("~")).map(linkSign).filter(Boolean))];
  return `${linkTitle(name, words)}: ${signs.join(" / ") || words.t("link.fine")}`;
}

/** Items of its menu: [verb, command, figure]. Pure. */
export function linkItems({ state }, name) {
  const between = name.split("~");
  const faults = faultsOf(state, between);
  const items = Object.entries({ ...SLOW, ...LINKS }).map(([verb, params]) => [verb, { do: verb, between, ...params }, { figure: FIGURES[verb] }]);
  const cut = faults.some(({ partitioned }) => partitioned) ? [] : [["partition_link", { do: "partition_link", between }]];
  return [...(faults.length ? [["heal_link", { do: "heal_link", between }]] : []), ...cut, ...items];
}

/** A dot that shows where one can take hold; where the link has a sign of its own, that is it. */
function handle(view, { name, x, y, between }) {
  const { words, state } = view;
  const faulty = faultsOf(state, between).length > 0;
  const open = (event) => {
    event.stopPropagation();
    view.openMenu("link", name, x, y + APART / 2);
  };
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open(event);
  };
  return h("g", {
    key: name, class: `link-handle${faulty ? " faulty" : ""}${view.spot?.name === name ? " spot" : ""}`, role: "button", tabindex: "-1",
    "aria-haspopup": "menu", "aria-label": words.t("menu.of", { name: linkText(state, name, words) }), "data-menu": `link:${name}`,
    onclick: open, onkeydown: press
  },
    h("title", {}, linkText(state, name, words)),
    h("rect", { x: Math.round(x - APART / 2), y: Math.round(y - APART / 2), width: APART, height: APART, rx: APART / 2 }),
    h("circle", { cx: Math.round(x), cy: Math.round(y), r: 3.5 }));
}

/** All handles of the stage, and the lines that they belong to: they show once somebody points at the stage, or touches it. */
export const linkHandles = (view, { links }) => !view.lookOnly && [
  links.map(({ name, line }) => h("path", { key: `tie ${name}`, class: "tie", d: curve(line) })), links.map((one) => handle(view, one))];
