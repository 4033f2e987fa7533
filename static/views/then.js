/** Then and now: beside a setting stands what it was in each era, since which release, by which KIP, and what that means. */
import { base } from "../net/api.js";
import { h } from "./patch.js";

const UNBOUNDED = "9223372036854775807";

/** What is different: a setting and whose it is, or who keeps the metadata. */
export const called = ({ of, name }, words) => of === "controller" ? words.t("era.controller") : `${name} (${words.t(`era.of.${of}`)})`;

/** The same for a name that a producer, a consumer and a broker may have, each with whose it is. */
export const besideName = (found, words) => found.map((one) => h("div", { key: one.of, class: "beside-name" },
  found.length > 1 && `${words.t(`era.of.${one.of}`)} `, thenAndNow({ eras: one }, words)));

/** Nothing for a setting that all eras have alike; the page of all differences is behind it. */
export function thenAndNow({ eras }, words) {
  if (!eras) return null;
  const shown = Object.entries(eras.values).map(([era, value]) => `${era}: ${value === UNBOUNDED ? "∞" : value || "–"}`);
  return h("div", { class: "setting-note", "data-eras": "" }, `${shown.join(" · ")} · `,
    h("a", { href: `${base}/eras/`, target: "_blank", rel: "noopener" }, words.t("config.since", { release: eras.since, by: eras.by })),
    `: ${eras.why[words.language] ?? eras.why.en}`);
}
