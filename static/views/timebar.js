/** The time bar: play, pause, step, the moments of the run, speed, seed, the way back to live. */
import { seconds } from "../i18n/format.js";
import { icon } from "./icons.js";
import { h } from "./patch.js";

export const SPEEDS = [100, 10, 5, 2, 1, 0.5, 0.1, 0.01, 0.001]; // from and to what the pump takes
const BUCKET = 8;

export function timeButtons(view) {
  const { words, clock } = view;
  const still = view.lookOnly && clock.live; // a class looks on: time is not its own
  const moving = clock.live ? !clock.cluster.paused : clock.playing;
  const button = (key, drawing, text, kbd, act) => h("button", { key, type: "button", "data-time": key, onclick: act },
    icon(drawing),
    h("span", {}, text),
    h("kbd", {}, kbd));
  const brief = (key, drawing, text, kbd, act) => h("button", {
    key, type: "button", class: "brief", "data-time": key, title: text, "aria-label": text, onclick: act
  }, icon(drawing), h("kbd", {}, kbd));
  return [
    brief("back_state", "back_far", words.t("time.back_state"), "⇧←", () => view.step(-1, true)),
    button("back", "back", words.t("time.back"), "←", () => view.step(-1)),
    h("span", { key: "own", class: "own", inert: still },
      button("play", moving ? "pause" : "play", words.t(moving ? "time.pause" : "time.play"), "␣", view.play),
      button("step", "on", words.t("time.step"), "→", () => view.step(1)),
      brief("step_state", "on_far", words.t("time.step_state"), "⇧→", () => view.step(1, true))),
  ];
}

/** 0.01 -> "1/100×". */
export const speedText = (speed) => (speed >= 1 ? `${speed}×` : `1/${Math.round(1 / speed)}×`);

export function timeFacts(view) {
  const { words, clock, state } = view;
  const speed = clock.live ? clock.cluster.speed : clock.speed;
  const choices = SPEEDS.includes(speed) ? SPEEDS : [speed, ...SPEEDS].sort((a, b) => b - a);
  return [
    h("span", { key: "now", class: "moment-facts" }, h("output", { class: "now" }, words.t("time.now", { t: seconds(clock.viewedTime) })),
      h("span", { class: "seed", title: words.t("time.seed", { seed: state.cluster.seed }) }, words.t("time.seed", { seed: state.cluster.seed }))),
    h("label", { key: "speed" }, h("span", {}, words.t("time.speed")), " ",
      h("select", {
        id: "speed", "aria-label": words.t("time.speed"), value: String(speed), disabled: view.lookOnly && clock.live,
        onchange: (event) => view.setSpeed(Number(event.target.value))
      }, choices.map((one) => h("option", { key: one, value: String(one) }, speedText(one))))),
    h("button", {
      key: "live", type: "button", "data-time": "live", class: clock.live ? "on" : "", "aria-pressed": String(clock.live),
      onclick: view.goLive
    }, "● ", words.t("time.live"), " ", h("kbd", {}, "L")),
    h("button", {
      key: "fork", type: "button", "data-time": "fork", title: words.t("fork.title"), disabled: view.lookOnly || view.desk.work !== null,
      onclick: view.desk.forks.ask
    }, icon("fork"), " ", h("span", {}, words.t("time.fork")), " ", h("kbd", {}, "F")),
  ];
}

/** What was before the oldest event that is here. */
export function earlier({ words, desk }) {
  if (desk.past.complete || !desk.socket) return [];
  const label = words.t(desk.past.loading ? "time.loading" : "time.earlier");
  return [h("button", {
    key: "earlier", type: "button", "data-time": "earlier", title: label, "aria-label": label, disabled: desk.past.loading !== null,
    onclick: () => desk.past.more()
  }, desk.past.loading ? "…" : "⇤")];
}

const RANK = { plain: 1, good: 2, turn: 3, bad: 4 };

/** The loudest thing in each stretch of the run: a list of {x, tone, n}. Pure. */
export function marksOf(items, from, to, width) {
  const found = new Map();
  const span = Math.max(1, to - from);
  for (const item of items) {
    if (!item.loud || item.first.t < from) continue;
    const place = Math.min(Math.floor(width / BUCKET) - 1, Math.floor(((item.first.t - from) / span) * (width / BUCKET)));
    const mark = found.get(place) ?? { x: place * BUCKET, tone: "plain", n: 0 };
    mark.n += item.positions.length;
    if (RANK[item.tone] > RANK[mark.tone]) mark.tone = item.tone;
    found.set(place, mark);
  }
  return [...found.values()];
}

/** Draw the marks above the scrubber; height tells the tone as well as colour does. */
export function paintMarks(canvas, marks, palette, width, height) {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = palette.line;
  for (let x = 0; x + BUCKET <= width; x += BUCKET) context.fillRect(x + 1, height - 4, BUCKET - 2, 3);
  for (const { x, tone } of marks) {
    const tall = { plain: 7, good: 11, turn: 14, bad: height - 1 }[tone];
    context.fillStyle = { plain: palette.soft, good: palette.good, turn: palette.accent, bad: palette.bad }[tone];
    context.fillRect(x + 1, height - tall - 1, BUCKET - 2, tall);
  }
}
