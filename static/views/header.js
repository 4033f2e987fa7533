/** The first line: lights, mode, banners. */
import { lights } from "../model/figures.js";
import { isKRaft } from "../model/names.js";
import { chipText, invariantChip } from "./tabs/lights.js";
import { h } from "./patch.js";

function light(words, key, n, internal, tone) {
  const sign = n === 0 ? "✓" : tone === "bad" ? "✕" : "▲";
  return h("span", { key, class: `chip ${n === 0 ? "good" : tone}`, title: words.t(`${key}.tip`) },
    h("b", { "aria-hidden": "true" }, sign),
    chipText(words.t(key, { n }), n),
    internal > 0 && h("span", { class: "chip-figure" }, words.t("light.internal", { n: internal })));
}

/** Who is controller: a broker, or a controller of its own. */
export function controllerText({ cluster: { controller, controller_epoch: epoch }, brokers }, words) {
  if (controller === null) return words.t("light.no_controller");
  return brokers[controller] ? words.t("light.controller", { controller, epoch }) : words.t("light.controller_apart", { id: controller, epoch });
}

/** Controller and Kafka's three partition counts. */
export function lightChips(view) {
  const { state, words } = view;
  const found = lights(state);
  const { controller } = state.cluster;
  return [
    controller === null
      ? h("span", { key: "controller", class: "chip bad" }, h("b", { "aria-hidden": "true" }, "✕"), words.t("light.no_controller"))
      : h("span", { key: "controller", class: "chip" }, controllerText(state, words)),
    invariantChip(view),
    light(words, "light.under_replicated", found.underReplicated, found.internal.underReplicated, "warn"),
    light(words, "light.offline", found.offline, found.internal.offline, "bad"),
    light(words, "light.below_min_isr", found.belowMinIsr, found.internal.belowMinIsr, "bad"),
  ];
}

/** LIVE, PAUSED, REWOUND or the state of the connection. */
export function mode({ clock, online, words }) {
  const key = !online ? "mode.offline" : !clock.live ? "mode.rewound" : clock.cluster.paused ? "mode.paused" : "mode.live";
  const sign = { "mode.offline": "✕", "mode.rewound": "◀◀", "mode.paused": "❚❚", "mode.live": "●" }[key];
  return h("span", { key, class: `mode ${key.slice(5)}` },
    h("b", { "aria-hidden": "true" }, sign),
    h("span", {}, words.t(key)));
}

/** What holds for the whole run: a preset that is not Kafka's defaults, protections that were taken away; of which generation an empty lab is,
 * and how to get the other one: whoever has no shell there, a student, has chosen already. */
export function banners({ state, words, desk, clock }) {
  const settings = Object.entries(state.cluster.settings ?? {}).filter(([key]) => /timeout|lag\.time/.test(key));
  const off = Object.keys(state.cluster.protections ?? {}).filter((name) => state.cluster.protections[name] === false);
  const empty = Object.keys(state.brokers).length > 0 && !Object.values(state.topics).some(({ internal }) => !internal);
  const student = globalThis.document?.body?.dataset.student;
  const begins = empty && !student && desk.live !== null && desk.run === desk.live;
  const selecting = Object.values(state.brokers).filter((broker) => broker.replica_selector && broker.state === "running").map((broker) => broker.id);
  return [
    clock.cluster.over.length > 0 && h("p", { key: "over", class: "banner", role: "status", "data-over": clock.cluster.over.join(" ") },
      h("span", {}, `⚠ ${words.t(`banner.over.${clock.cluster.over[0]}`)}`)),
    state.cluster.preset === "teaching" && h("p", { key: "teaching", class: "banner" },
      h("span", {}, `◷ ${words.t("banner.teaching")}`),
      settings.map(([key, value]) => h("code", { key }, `${key}=${value}`))),
    off.length > 0 && h("p", { key: "protections", class: "banner", "data-off": off.join(" ") },
      h("span", {}, `⚠ ${words.t("banner.protections", { names: off.join(", ") })}`)),
    selecting.length > 0 && h("p", { key: "selector", class: "banner", "data-selector": selecting.join(" ") },
      h("span", {}, `⇄ ${words.t("banner.selector", { brokers: selecting.join(", ") })}`),
      h("code", {}, "replica.selector.class")),
    begins && h("p", { key: "generation", class: "banner", "data-runs": state.cluster.controller_mode },
      h("span", {},
        words.t("banner.generation", { command: `./brokerlab up --controller ${isKRaft(state) ? "zookeeper" : "kraft"} --data DIR` }))),
  ];
}
