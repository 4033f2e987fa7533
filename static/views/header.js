/** The first line: lights, mode, banners. */
import { lights } from "../model/figures.js";
import { seconds } from "../i18n/format.js";
import { h } from "./patch.js";

function light(words, key, n, tone) {
  const sign = n === 0 ? "✓" : tone === "bad" ? "✕" : "▲";
  return h("span", { key, class: `chip ${n === 0 ? "good" : tone}`, title: words.t(`${key}.tip`) }, h("b", { "aria-hidden": "true" }, sign), words.t(key, { n }));
}

/** Controller and Kafka's three partition counts. */
export function lightChips({ state, words }) {
  const found = lights(state);
  const { controller, controller_epoch: epoch } = state.cluster;
  return [
    controller === null
      ? h("span", { key: "controller", class: "chip bad" }, h("b", { "aria-hidden": "true" }, "✕"), words.t("light.no_controller"))
      : h("span", { key: "controller", class: "chip" }, words.t("light.controller", { controller, epoch })),
    light(words, "light.under_replicated", found.underReplicated, "warn"),
    light(words, "light.offline", found.offline, "bad"),
    light(words, "light.below_min_isr", found.belowMinIsr, "bad"),
  ];
}

/** LIVE, PAUSED, REWOUND or the state of the connection. */
export function mode({ clock, online, words }) {
  const key = !online ? "mode.offline" : !clock.live ? "mode.rewound" : clock.cluster.paused ? "mode.paused" : "mode.live";
  const sign = { "mode.offline": "✕", "mode.rewound": "◀◀", "mode.paused": "❚❚", "mode.live": "●" }[key];
  return h("span", { key, class: `mode ${key.slice(5)}` }, h("b", { "aria-hidden": "true" }, sign), words.t(key));
}

/** What a learner must know about this moment: shortened timeouts, a rewound view, a lost connection. */
export function banners({ clock, online, state, words, goLive, everOnline }) {
  const found = [];
  const cluster = seconds(clock.clusterTime());
  if (!online && everOnline) found.push(h("p", { key: "lost", class: "banner bad" }, `✕ ${words.t("banner.lost", { cluster })}`));
  if (!clock.live) {
    const text = words.t(clock.cluster.paused ? "banner.rewound_paused" : "banner.rewound", { viewed: seconds(clock.viewedTime), cluster });
    found.push(h("p", { key: "rewound", class: "banner turn" }, h("span", {}, `◀◀ ${text}`), h("button", { type: "button", onclick: goLive }, words.t("banner.back"), " ", h("kbd", {}, "L"))));
  }
  if (state.cluster.preset === "teaching") {
    const settings = Object.entries(state.cluster.settings ?? {}).filter(([key]) => /timeout|\.ms$/.test(key));
    found.push(h("p", { key: "teaching", class: "banner" }, h("span", {}, words.t("banner.teaching")),
      settings.map(([key, value]) => h("code", { key }, `${key}=${value}`))));
  }
  return found;
}
