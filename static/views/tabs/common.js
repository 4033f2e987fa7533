/** What the inspector's tabs share: facts, tables, notes, figures. */
import { count, seconds } from "../../i18n/format.js";
import { brokerClass } from "../../draw/palette.js";
import { h } from "../patch.js";

export function badge(id, kind, label) {
  return h("span", { key: id, class: `badge ${brokerClass(id)} ${kind}`, "aria-label": label, title: label, role: label ? "img" : null }, id);
}

/** Names and values, two pairs a line; a pair that is `WIDE` has a line of its own. */
export const WIDE = "wide";

/** A name with dots, which is broken behind them and nowhere else. */
export const dotted = (name) => name.split(/(?<=\.)/).flatMap((part, at) => (at ? [h("wbr", {}), part] : [part]));

const isDotted = (name) => typeof name === "string" && name.includes(".");

export function facts(pairs) {
  const told = ([name, value, kind]) => [
    h("dt", {}, isDotted(name) ? dotted(name) : name),
    h("dd", { class: kind === WIDE && isDotted(name) ? "of-name" : kind ?? null }, value)];
  return h("dl", { class: "facts" }, pairs.filter(Boolean).map(told));
}

/** A table: heads are texts or [text, "number"]. */
export function table(key, caption, heads, rows) {
  return h("table", { key, class: "partitions small look" },
    h("caption", { class: "unseen" }, caption),
    h("thead", {},
      h("tr", {},
        heads.map((head, at) => h("th", { key: at, scope: "col", class: Array.isArray(head) ? head[1] : null },
          Array.isArray(head) ? head[0] : head)))),
    h("tbody", {}, rows));
}

export const cell = (value, kind = "") => h("td", { class: kind }, value ?? "–");
export const number = (value) => h("td", { class: "number" }, value === null || value === undefined ? "–" : count(value));
export const head = (...children) => h("th", { scope: "row" }, ...children);
export const title = (key, ...children) => h("h3", { key, class: "look-title" }, ...children);
export const hint = (key, text) => h("p", { key, class: "hint" }, text);

export function bytes(size) {
  if (size === null || size === undefined) return "–";
  if (size < 10_000) return `${count(size)} B`;
  const [unit, name] = size < 10_000_000 ? [1024, "KiB"] : size < 2 ** 30 ? [2 ** 20, "MiB"] : [2 ** 30, "GiB"];
  return `${(size / unit).toFixed(1).replace(/\.0$/, "")} ${name}`;
}

/** Microseconds as milliseconds. */
export const ms = (us) => (us === null || us === undefined ? "–" : us === 0 ? "0 ms" : `${(us / 1000).toFixed(us < 10_000 ? 3 : 1)} ms`);

/** What stands at the top of a tab whose facts are asked for: since when they hold, or why there are none. */
export function asOf(view, entry) {
  const { words, clock } = view;
  if (entry.error) return h("p", { key: "asof", class: "hint warn-text" }, `▲ ${view.refusal({ problem: entry.error })}`);
  if (!entry.found) return h("p", { key: "asof", class: "hint" }, words.t("look.asking"));
  return h("p", { key: "asof", class: clock.live ? "hint" : "hint warn-text" },
    clock.live ? words.t("look.as_of", { t: seconds(entry.t) }) : `▲ ${words.t("look.now_not_then", { t: seconds(entry.t) })}`);
}

/** A choice of one, as buttons. */
export function choices(name, label, options, chosen, choose) {
  return h("div", { key: `choose-${name}`, class: "segments wrap", role: "group", "aria-label": label },
    options.map(([value, text]) => h("button", {
      key: value, type: "button", "data-choice": `${name}:${value}`, "aria-pressed": String(String(value) === String(chosen)),
      class: String(value) === String(chosen) ? "on" : "", onclick: () => choose(value),
    }, text)));
}

/** Bytes a second, or nothing. */
export const throttleField = ({ words }, required = false) => h("label", { key: "throttle" },
  h("span", {}, words.t("throttle.rate")),
  h("input", { name: "throttle", type: "number", min: 1, required, inputmode: "numeric" }));

/** {throttle} of a form that has one and where it was filled in. */
export const throttleFrom = (given) => (given.get("throttle") ? { throttle: Number(given.get("throttle")) } : {});

/** A button that sends its form: `read` makes the command of the form's values; then `about`, [kind, name], is asked anew. */
export function commandForm(view, name, fields, read, about) {
  const submit = (event) => {
    event.preventDefault();
    view.command(read(new FormData(event.target))).then(({ ok }) => { if (ok) view.inquiry.fresh(...about); });
  };
  return h("form", { key: name, class: "config-form manage", "data-manage": name, onsubmit: submit }, fields,
    h("button", { disabled: view.lookOnly }, view.words.t(`do.${name}`)));
}
