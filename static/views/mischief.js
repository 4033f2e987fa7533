/** Faults with a place: of a link, of the data of one broker, of its clock; and protections that are taken away. */
import { inPlace, PROTECTIONS } from "../model/fork.js";
import { h } from "./patch.js";

export const SHARE = 0.3; // of the messages of a link
export const NARROW = 20_000; // bytes/s
const HOUR_MS = 3_600_000;
export const LINKS = {
  drop_link: { probability: SHARE }, duplicate_link: { probability: SHARE }, reorder_link: { probability: SHARE },
  bandwidth_link: { bytes_per_s: NARROW }
};

/** `command`: what it does, asked again at the click: since it was drawn the log may have grown, the broker may have died. */
const lever = (view, verb, command, params = {}) => h("button", {
  key: verb, type: "button", class: "lever", "data-fault": verb, disabled: command() === null, title: view.words.t(`tip.${verb}`, params),
  onclick: () => {
    const wanted = command();
    if (wanted !== null) view.command(wanted);
  }
}, view.words.t(`do.${verb}`));

/** What a link can do to messages besides being cut or slow, and the cluster in two halves. */
export function linkFaults(view, between) {
  const params = { percent: 100 * SHARE, bytes: NARROW };
  return h("div", { key: "faults", class: "lever-grid" },
    Object.keys(LINKS).map((verb) => lever(view, verb, () => ({ do: verb, between, ...LINKS[verb] }), params)),
    lever(view, "random_halves", () => ({ do: "random_halves" })));
}

/** Sets the clock of broker `id` wrong by an hour, or right again. */
export const clock = ({ brokers }, id) => ({ do: "clock_skew", broker: Number(id), ms: brokers[id]?.clock_ms ? 0 : HOUR_MS });

/**
 * Commands that harm what broker `id` keeps of the chosen partition, or its clock: {verb: command}; null where it keeps
 * nothing, or runs and has its indexes in memory. Pure.
 */
export function harm({ state, chosenPartition: partition, topicName: topic, chosenNumber: number }, id) {
  const log = partition?.logs[id];
  const place = { broker: Number(id), topic, partition: Number(number) };
  const kept = log && log.leo > log.start;
  return {
    bit_flip: kept ? { do: "bit_flip", ...place, offset: log.leo - 1 } : null,
    lose_index: kept && state.brokers[id]?.state === "stopped" ? { do: "lose_index", ...place } : null,
    torn: { do: "power_loss", broker: Number(id), torn: true },
    [state.brokers[id]?.clock_ms ? "clock_right" : "clock_skew"]: clock(state, id),
  };
}

export function dataFaults(view, id) {
  const params = { partition: view.chosen ?? "–" };
  return h("div", { key: "harm", class: "lever-grid" },
    Object.keys(harm(view, id)).map((verb) => lever(view, verb, () => harm(view, id)[verb], params)));
}

/** Replication's protections, of a live cluster: one is chosen and taken away, or put back. */
export function protections(view) {
  const { words, state } = view;
  const chosen = () => (PROTECTIONS.includes(view.protectionOf) ? view.protectionOf : PROTECTIONS[0]);
  const name = chosen();
  const there = inPlace(state, name);
  const turn = () => view.command({ do: "set_protection", set: { [chosen()]: !inPlace(view.state, chosen()) } }); // of what is chosen at the click
  return [
    h("select", {
      key: "of", class: "wide-select", "aria-label": words.t("levers.protections"), "data-protection": "", value: name,
      onchange: (event) => view.set({ protectionOf: event.target.value })
    },
      PROTECTIONS.map((one) => h("option", { key: one, value: one }, `${inPlace(state, one) ? "✓" : "✕"} ${one}`))),
    h("div", { key: "acts", class: "lever-row" },
      h("button", { type: "button", class: there ? "lever" : "lever restart", "data-fault": "set_protection", onclick: turn },
        words.t(there ? "levers.protection.off" : "levers.protection.on"))),
  ];
}
