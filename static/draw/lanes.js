/** Paints a sketch: lanes, arrows, marks; remembers where things are, for clicks. */
import { brokerOf } from "../model/names.js";
import { EVERYDAY } from "./folds.js";
import { SMALL } from "./letters.js";

const LEFT = 126;
const RIGHT = 14;
const TOP = 16;
const BOTTOM = 22;
const KINDS = 2; // of a band's messages that are named
const LINE = 15;
const VEIL = 0.62; // over what is still to come
const SLOT = 15;
const UP = 10; // of a label's ground above its base line
const HIGH = 13;
const OVER = 16; // pixels that a band's words may stand out of it on each side
const WORDED = 58; // pixels of a band with room for its words
const CROWD = 160; // arrows, from which on the everyday ones are only shaded
/** Places of slots on `width` pixels in the order of events: each some 15 pixels. */
export const slotsOn = (width) => Math.max(24, Math.min(96, Math.round((width - LEFT - RIGHT) / SLOT)));

export class Lanes {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.hits = [];
  }

  /** Paint `sketch` on `width` x `height` pixels. `names(node)` is a lane's label, `later` stands where the known future
   * begins. */
  paint(sketch, { width, height, palette, names, selected, later = "" }) {
    const ratio = globalThis.devicePixelRatio || 1;
    const { canvas, context } = this;
    const [w, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== tall) [canvas.width, canvas.height] = [w, tall];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const gap = (height - TOP - BOTTOM) / Math.max(1, sketch.lanes.length - 1 || 1);
    const y = (lane) => TOP + (sketch.lanes.length === 1 ? (height - TOP - BOTTOM) / 2 : lane * gap);
    const x = (share) => LEFT + share * (width - LEFT - RIGHT);
    const frame = { x, y, width, height, palette, names, selected, later };
    this.hits = [];
    this.#ticks(sketch, frame);
    this.#lanes(sketch, frame);
    context.save();
    context.beginPath();
    context.rect(LEFT - 6, 0, width - LEFT + 6, height);
    context.clip();
    const written = this.#bands(sketch, frame);
    const labels = [...this.#arrows(sketch, frame), ...this.#marks(sketch, frame)];
    this.#veil(sketch, frame);
    for (const { text, left, wide, base, ahead } of written) this.#label(text, left, base, palette, ahead ? palette.soft : palette.ink, wide);
    this.#labels(labels, frame, written);
    context.restore();
    this.#cursor(sketch, frame);
  }

  /** What has not happened yet at the moment that is looked at is dimmed, its labels alone stay readable. */
  #veil({ cursor, known }, { x, height, palette }) {
    if (!(known > cursor)) return;
    const { context } = this;
    context.globalAlpha = VEIL;
    context.fillStyle = palette.ground;
    context.fillRect(x(cursor), 0, x(known) - x(cursor) + RIGHT, height - 17);
    context.globalAlpha = 1;
  }

  /** The moment that is looked at; the window may end behind it. */
  #cursor({ cursor, known }, { x, height, palette, later }) {
    const { context } = this;
    const at = Math.round(x(cursor)) + 0.5;
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(at, 2);
    context.lineTo(at, height - 16);
    context.stroke();
    context.setLineDash([]);
    const text = `${later} ▸`;
    context.font = palette.font(SMALL);
    if (known > cursor && x(known) - at > context.measureText(text).width + 8) this.#label(text, at + 5, 11, palette, palette.accent);
  }

  /** On a ground of its own: no line goes through its letters. */
  #label(text, left, base, palette, color, wide = this.context.measureText(text).width) {
    const { context } = this;
    context.fillStyle = palette.ground;
    context.beginPath();
    context.roundRect(left - 2, base - UP, wide + 4, HIGH, 3);
    context.fill();
    context.fillStyle = color;
    context.fillText(text, left, base);
  }

  #ticks({ ticks }, { x, height, palette }) {
    const { context } = this;
    context.font = palette.font(SMALL);
    context.textAlign = "center";
    context.fillStyle = palette.soft;
    context.strokeStyle = palette.line;
    context.lineWidth = 1;
    for (const { x: share, text } of ticks) {
      const at = Math.round(x(share)) + 0.5;
      context.beginPath();
      context.moveTo(at, 4);
      context.lineTo(at, height - 18);
      context.stroke();
      context.fillText(text, at, height - 5);
    }
    context.textAlign = "left";
  }

  /** Each as far as anything is known: behind that nobody lives and nobody is dead. */
  #lanes({ lanes, dead, known, cursor }, { x, y, palette, names }) {
    const { context } = this;
    lanes.forEach((node, lane) => {
      const broker = brokerOf(node);
      context.strokeStyle = broker ? palette.broker(broker) : palette.soft;
      context.lineWidth = broker ? 2.5 : 1.5;
      context.beginPath();
      context.moveTo(x(0) - 4, y(lane));
      context.lineTo(x(Math.max(known, cursor)), y(lane));
      context.stroke();
      context.fillStyle = palette.ink;
      context.font = palette.font(SMALL);
      context.fillText(fitted(context, names(node), LEFT - 16), 4, y(lane) + 4);
    });
    for (const { lane, x1, x2, kind } of dead) {
      context.strokeStyle = palette.ground;
      context.lineWidth = 4;
      context.beginPath();
      context.moveTo(x(Math.max(0, x1)), y(lane));
      context.lineTo(x(x2), y(lane));
      context.stroke();
      context.strokeStyle = kind === "process_paused" ? palette.warn : palette.bad;
      context.lineWidth = 1.5;
      context.setLineDash(kind === "process_paused" ? [8, 4] : [2, 5]);
      context.stroke();
      context.setLineDash([]);
    }
  }

  /** Everyday messages as one stretch: between whom, how long. Answers its labels, which stand above all lines: how many of which kind. */
  #bands({ bands }, { x, y, width, height, palette }) {
    const { context } = this;
    const labels = [];
    for (const band of bands) {
      const [left, right] = [x(band.x1), x(band.x2)];
      this.hits.push({ x: (left + right) / 2, y: height / 2, position: band.end - 1, x1: left, y1: height / 2, x2: right, y2: height / 2 });
      if (!band.pairs.length) continue;
      const top = y(Math.min(...band.pairs.map(({ a }) => a))) - 7;
      const bottom = y(Math.max(...band.pairs.map(({ b }) => b))) + 7;
      context.globalAlpha = 0.3;
      context.fillStyle = palette.line;
      context.beginPath();
      context.roundRect(left, top, right - left, bottom - top, 5);
      context.fill();
      context.strokeStyle = palette.soft;
      context.globalAlpha = 0.55;
      band.pairs.forEach(({ a, b, n }, index) => {
        const at = left + ((index + 1) * (right - left)) / (band.pairs.length + 1);
        context.lineWidth = 0.8 + Math.log2(1 + n) * 0.22;
        context.beginPath();
        context.moveTo(at, y(a));
        context.lineTo(at, y(b));
        context.stroke();
      });
      context.globalAlpha = 1;
      if (right - left >= WORDED) labels.push(...this.#bandText(band, [left, right], (top + bottom) / 2, { width, height, palette }));
    }
    return labels;
  }

  /** A name and its count in `room` pixels; the name is what gives way. */
  #fitting(name, count, room) {
    const wide = (text) => this.context.measureText(text).width > room;
    if (!wide(name + count)) return name + count;
    let length = name.length - 1;
    while (length > 3 && wide(`${name.slice(0, length)}…${count}`)) length -= 1;
    return `${name.slice(0, length)}…${count}`;
  }

  #bandText({ kinds, took, ahead }, [left, right], centre, { width, height, palette }) {
    const { context } = this;
    const middle = (left + right) / 2;
    context.font = palette.font(SMALL);
    const room = right - left + 2 * OVER;
    const lines = kinds.slice(0, KINDS).map(([api, n]) => this.#fitting(api, ` ×${n > 9999 ? `${Math.round(n / 1000)}k` : n}`, room));
    const first = centre - ((lines.length - 1) * LINE) / 2 + 4;
    if (took > 0) {
      const time = took >= 1e6 ? `${(took / 1e6).toFixed(1)} s` : `${Math.max(1, Math.round(took / 1e3))} ms`;
      this.#label(time, middle - context.measureText(time).width / 2, height - 5, palette, palette.soft);
    }
    return lines.map((text, index) => {
      const wide = context.measureText(text).width;
      const begin = Math.max(LEFT - 4, Math.min(middle - wide / 2, width - RIGHT - wide));
      return { text, left: begin, right: begin + wide + 3, wide, base: first + index * LINE, ahead };
    });
  }

  #arrows({ arrows, lanes }, frame) {
    const { context } = this;
    const { x, y, palette, selected } = frame;
    const used = new Set();
    const labels = [];
    const crowded = arrows.length > CROWD;
    for (const arrow of arrows) {
      const [ax, ay, bx, by] = [x(arrow.x1), y(arrow.a), x(arrow.x2), y(arrow.b)];
      const chosen = arrow.position === selected;
      const shaded = crowded && !chosen && !arrow.failed && (arrow.label === "" || EVERYDAY.has(arrow.label));
      const slot = `${Math.round(ax / (shaded ? 5 : 3))}:${arrow.a}:${arrow.b}:${shaded || arrow.answer}`;
      this.hits.push({ x: (ax + bx) / 2, y: (ay + by) / 2, position: arrow.position, x1: ax, y1: ay, x2: bx, y2: by });
      if (used.has(slot) && !chosen) continue;
      used.add(slot);
      const broker = brokerOf(lanes[arrow.a]);
      context.strokeStyle = context.fillStyle = arrow.failed ? palette.bad : broker ? palette.broker(broker) : palette.ink;
      context.lineWidth = chosen ? 3 : shaded ? 1 : 1.2;
      context.globalAlpha = shaded ? 0.22 : 1;
      context.setLineDash(arrow.answer && !shaded ? [3, 3] : []);
      context.beginPath();
      context.moveTo(ax, ay);
      context.lineTo(bx, by);
      context.stroke();
      context.setLineDash([]);
      context.globalAlpha = shaded ? 0.5 : 1;
      this.#head(ax, ay, bx, by, shaded ? 5 : 8);
      context.globalAlpha = 1;
      if (arrow.label && !shaded) labels.push([arrow.label, (ax + bx) / 2 + 5, (ay + by) / 2 + 4, false, arrow.ahead]);
    }
    return labels;
  }

  #head(ax, ay, bx, by, size) {
    const { context } = this;
    const angle = Math.atan2(by - ay, bx - ax);
    context.beginPath();
    context.moveTo(bx, by);
    context.lineTo(bx - size * Math.cos(angle - 0.4), by - size * Math.sin(angle - 0.4));
    context.lineTo(bx - size * Math.cos(angle + 0.4), by - size * Math.sin(angle + 0.4));
    context.closePath();
    context.fill();
  }

  /** Labels that cover neither one another nor what is `taken`: those of marks first, then in their order. Each is [text, x, y, of a mark?, ahead?]. */
  #labels(labels, { palette, width: edge }, taken) {
    const { context } = this;
    context.font = palette.font(SMALL);
    for (const [text, wanted, base, , ahead] of labels.sort((a, b) => Boolean(b[3]) - Boolean(a[3]))) {
      const width = context.measureText(text).width;
      const left = Math.min(wanted, edge - RIGHT - width - 2);
      if (taken.some((box) => left < box.right && left + width > box.left && Math.abs(base - box.base) < 14)) continue;
      taken.push({ left: left - 3, right: left + width + 3, base });
      this.#label(text, left, base, palette, ahead ? palette.soft : palette.ink, width);
    }
  }

  #marks({ marks }, frame) {
    const { x, y, palette, selected } = frame;
    const labels = [];
    const used = new Set();
    const many = marks.filter((mark) => mark.kind === "hw").length > 8;
    for (const mark of marks) {
      const [at, lane] = [x(mark.x), y(mark.lane)];
      const slot = `${Math.round(at / 4)}:${mark.lane}:${mark.kind}`;
      if (used.has(slot) && (!mark.label || mark.kind === "hw")) continue;
      used.add(slot);
      this.#mark(many && mark.kind === "hw" ? "tick" : mark.kind, at, lane, palette, mark.position === selected);
      this.hits.push({ x: at, y: lane, position: mark.position, near: true });
      if (mark.label && !(many && mark.kind === "hw")) labels.push([mark.label, at + 8, lane - 8, true, mark.ahead]);
    }
    return labels;
  }

  #mark(kind, x, y, palette, chosen) {
    const { context } = this;
    const r = chosen ? 8 : 6;
    const path = (...points) => {
      context.beginPath();
      points.forEach(([dx, dy], index) => (index ? context.lineTo(x + dx * r, y + dy * r) : context.moveTo(x + dx * r, y + dy * r)));
    };
    context.lineWidth = 2.5;
    if (kind === "death") {
      context.strokeStyle = palette.bad;
      path([-1, -1], [1, 1]);
      context.stroke();
      path([1, -1], [-1, 1]);
      context.stroke();
      return;
    }
    context.fillStyle = {
      start: palette.good, expand: palette.good, turn: palette.accent, crown: palette.ink, shrink: palette.bad, pause: palette.warn,
      cut: palette.bad, vote: palette.warn, hw: palette.ink, tick: palette.ink
    }[kind];
    if (kind === "start") path([-0.8, -1], [1, 0], [-0.8, 1]);
    else if (kind === "expand") path([0, -1], [1, 0.8], [-1, 0.8]);
    else if (kind === "shrink") path([0, 1], [1, -0.8], [-1, -0.8]);
    else if (kind === "hw") path([-0.25, -1.1], [0.25, -1.1], [0.25, 1.1], [-0.25, 1.1]);
    else if (kind === "tick") path([-0.1, 0], [0.1, 0], [0.1, 0.9], [-0.1, 0.9]);
    else if (kind === "crown") path([-1, 0.8], [-1.1, -0.8], [-0.4, 0], [0, -1.1], [0.4, 0], [1.1, -0.8], [1, 0.8]);
    else path([0, -1.1], [1.1, 0], [0, 1.1], [-1.1, 0]);
    context.closePath();
    context.fill();
  }

  /** The position of the event nearest to a click, or null. */
  hit(x, y) {
    let best = null;
    let nearest = 9;
    for (const one of this.hits) {
      const distance = one.near ? Math.hypot(one.x - x, one.y - y) - 3 : toSegment(x, y, one);
      if (distance < nearest) [nearest, best] = [distance, one.position];
    }
    return best;
  }
}

function toSegment(x, y, { x1, y1, x2, y2 }) {
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
  const u = Math.max(0, Math.min(1, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length));
  return Math.hypot(x - x1 - u * (x2 - x1), y - y1 - u * (y2 - y1));
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 3 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}
