/** The strip on a broker's card: where its requests are now, with real figures. */
import { h } from "./patch.js";

const LEAST = 300;
const LEAST_WORDED = 560; // pixels in which six stages have their names
const STEP = 33;

/** [name, sign, value, busy, full] of each stage. */
export function stagesOf(pipeline) {
  const shelf = pipeline.produce + pipeline.fetch + pipeline.other;
  return [
    ["acceptor", "⇥", pipeline.connections, false], ["network", "⇄", pipeline.reading, pipeline.reading > 0],
    ["queue", "☰", pipeline.queue, pipeline.queue > 0, pipeline.queue > 0 && pipeline.queue >= pipeline.queue_max],
    ["handlers", "⚙", pipeline.busy, pipeline.busy > 0], ["purgatory", "◷", shelf, shelf > 0], ["responses", "↦", pipeline.responses, pipeline.responses > 0],
  ];
}

/** Height of the way of a request with its words, which a card of a lesson on requests has below its rows. */
export const WORDED = 34;

/** Whether the card has room for that way, and figures for it. */
export const hasWay = (view, box) => box.w >= LEAST_WORDED && box.broker.state === "running" && Boolean(view.state.pipelines?.[box.id]);

/** The way of a request through the broker, stage by stage, in words: what is in each of them now. */
export function pipelineWay(view, box) {
  const { words } = view;
  const pipeline = view.state.pipelines[box.id];
  const step = (box.w - 32) / 6;
  const y = box.y + box.h - WORDED + 2;
  return h("g", { key: "way", class: "pipe-strip worded", onclick: () => view.openBroker(box.id) },
    stagesOf(pipeline).map(([name, , value, busy, full], index) => {
      const x = box.x + 18 + index * step;
      const figure = full ? words.t("pipe.full", { n: value }) : value > 999 ? "1k+" : value;
      return h("g", { key: name, class: `pipe-cell${full ? " full" : busy ? " busy" : ""} ${name}`, "data-pipe": `${name}@${box.id}` },
        h("title", {}, words.t(`pipe.${name}.tip`)),
        h("rect", { x: x + 0.5, y: y + 0.5, width: step - 13, height: 24, rx: name === "purgatory" ? 2 : 6 }),
        h("text", { x: x + (step - 13) / 2, y: y + 16.5 }, `${words.t(`pipe.${name}`)} `, h("tspan", { class: "pipe-value" }, figure)),
        index > 0 && h("text", { key: "next", class: "pipe-next", x: x - 6.5, y: y + 16.5 }, "›"));
    }));
}

/**
 * SVG of the strip in `box`, between `x` and `right`, in its head or `down` pixels below; nothing without room or figures, nor in
 * Learn, where signs without words would say nothing, but for lessons on requests: they have it below.
 */
export function pipelineStrip(view, box, x, right, down = 0) {
  const pipeline = view.state.pipelines?.[box.id];
  if (!pipeline || (view.mode === "learn" && !down) || box.broker.state !== "running" || right - x < 6 * STEP || box.w < LEAST) return null;
  const { words } = view;
  const text = stagesOf(pipeline).map(([name, , value]) => `${words.t(`pipe.${name}`)} ${value}`).join(" → ");
  const from = right - 6 * STEP;
  return h("g", { key: "pipe", class: "pipe-strip", onclick: () => view.openBroker(box.id) },
    h("title", {}, `${words.t("pipe")}: ${text}`),
    stagesOf(pipeline).map(([name, sign, value, busy], index) => h("g", { key: name, class: `pipe-cell${busy ? " busy" : ""} ${name}` },
      h("title", {}, `${words.t(`pipe.${name}`)} ${value}: ${words.t(`pipe.${name}.tip`)}`),
      h("rect", { x: from + index * STEP + 0.5, y: box.y + down + 3.5, width: STEP - 3, height: 18, rx: name === "purgatory" ? 2 : 5 }),
      h("text", { x: from + index * STEP + (STEP - 3) / 2, y: box.y + down + 16.5 }, `${sign}${value > 999 ? "1k+" : value}`))));
}
