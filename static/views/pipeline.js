/** The strip on a broker's card: where its requests are now, with real figures. */
import { h } from "./patch.js";

const LEAST = 300;
const STEP = 33;

/** [name, sign, value, busy] of each stage. */
export function stagesOf(pipeline) {
  const shelf = pipeline.produce + pipeline.fetch + pipeline.other;
  return [
    ["acceptor", "⇥", pipeline.connections, false], ["network", "⇄", pipeline.reading, pipeline.reading > 0], ["queue", "☰", pipeline.queue, pipeline.queue > 0],
    ["handlers", "⚙", pipeline.busy, pipeline.busy > 0], ["purgatory", "◷", shelf, shelf > 0], ["responses", "↦", pipeline.responses, pipeline.responses > 0],
  ];
}

/** SVG of the strip in the head of `box`, between `x` and `right`; nothing without room or figures. */
export function pipelineStrip(view, box, x, right) {
  const pipeline = view.state.pipelines?.[box.id];
  if (!pipeline || box.broker.state !== "running" || right - x < 6 * STEP || box.w < LEAST) return null;
  const { words } = view;
  const text = stagesOf(pipeline).map(([name, , value]) => `${words.t(`pipe.${name}`)} ${value}`).join(" → ");
  const from = right - 6 * STEP;
  return h("g", { key: "pipe", class: "pipe-strip", onclick: () => view.openBroker(box.id) },
    h("title", {}, `${words.t("pipe")}: ${text}`),
    stagesOf(pipeline).map(([name, sign, value, busy], index) => h("g", { key: name, class: `pipe-cell${busy ? " busy" : ""} ${name}` },
      h("rect", { x: from + index * STEP + 0.5, y: box.y + 3.5, width: STEP - 3, height: 18, rx: name === "purgatory" ? 2 : 5 }),
      h("text", { x: from + index * STEP + (STEP - 3) / 2, y: box.y + 16.5 }, `${sign}${value > 999 ? "1k+" : value}`))));
}
