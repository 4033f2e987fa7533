/** A file of a segment as `kafka-dump-log` prints it, a page at a time. */
import { asOf, hint } from "./common.js";
import { h } from "../patch.js";

/** The page that is open of a segment: {file, begin, before}, `before` the pages that were left behind. */
export function dump(view, name, broker) {
  const { words, dumpOpen } = view;
  const entry = view.inquiry.get("dump", `${name}@${broker}:${dumpOpen.file}:${dumpOpen.begin}`);
  const { found } = entry;
  const go = (begin, before) => view.set({ dumpOpen: { ...dumpOpen, begin, before } });
  return [
    !found && asOf(view, entry),
    found && h("pre", {
      key: "dump", class: "znode-data dump", tabindex: "0", role: "group", "aria-label": words.t("dump.of", { file: found.file }),
      "data-dump": found.file
    }, found.lines.join("\n")),
    found?.cut && hint("dump-cut", words.t("dump.cut")),
    found && h("div", { key: "dump-acts", class: "look-row" },
      h("button", {
        type: "button", disabled: !dumpOpen.before.length, onclick: () => go(dumpOpen.before.at(-1), dumpOpen.before.slice(0, -1))
      }, `‹ ${words.t("dump.before")}`),
      h("button", {
        type: "button", "data-dump-next": "", disabled: found.next === null,
        onclick: () => go(found.next, [...dumpOpen.before, dumpOpen.begin])
      }, `${words.t("dump.next")} ›`),
      h("span", { class: "hint" }, words.t("dump.place", { begin: found.begin, size: found.size }))),
  ];
}
