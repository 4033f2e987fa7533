/** How far a piece of work is, as a bar with its figure. */
import { h } from "./patch.js";

/** A share of what is to do in percent. What still shows how far it is has not ended: never 100. Pure. */
export const percentOf = (share) => Math.max(0, Math.min(99, Math.floor(100 * share)));

/** The bar, and its figure beside it. */
export function progressBar(words, share) {
  const percent = percentOf(share);
  return [
    h("div", {
      class: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(percent),
      "aria-label": words.t("progress")
    }, h("i", { style: { width: `${percent}%` } })),
    h("span", { class: "number" }, `${percent} %`)];
}
