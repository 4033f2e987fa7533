/**
 * Messages under way: one canvas above the stage.
 *
 * A message takes FLIGHT_MS on the screen whatever it took in the cluster (on a link without delay it
 * takes none). Messages of one kind on one way within MERGE_MS travel as one dot with a count, so a
 * busy cluster shows how much goes where and the canvas stays cheap. With reduced motion nothing
 * travels: the way lights up with the dot at its end.
 *
 * While the cluster stands still, what is really under way stands on its way instead (`standing`).
 */
import { along, boxOf, way } from "./layout.js";
import { brokerOf } from "../model/names.js";

const FLIGHT_MS = 700;
const MERGE_MS = 160;
const LIMIT = 500;
const LABELLED = 30;
const HIT = 14; // pixels around a message that belong to it
const CHATTER = new Set(["Heartbeat", "Metadata", "ApiVersions"]);

/** What an event sends over a way: {from, to, answer, label, quiet} or null. */
export function flightOf(event) {
  const { code, node, params } = event;
  if (code === "request_sent") return { from: node, to: params.to, answer: false, label: params.api, quiet: CHATTER.has(params.api) };
  if (code === "request_received" && /^\d+$/.test(String(params.source))) {
    return { from: String(params.source), to: node, answer: false, label: params.api, quiet: CHATTER.has(params.api) };
  }
  if (code === "response_sent") {
    const failed = params.error && params.error !== "NONE";
    return { from: node, to: String(params.to), answer: true, label: failed ? params.error : params.api, quiet: !failed, failed };
  }
  if (code === "watch_fired") return { from: node, to: params.owner, answer: true, label: params.path, quiet: false };
  return null;
}

export class Dots {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.flights = [];
    this.recent = new Map();
    this.standing = []; // model/flights.js
    this.chosen = null;
    this.reduced = matchMedia("(prefers-reduced-motion: reduce)");
    this.clean = true;
  }

  /** Start what `events` send. */
  add(events, wall) {
    for (const event of events) {
      const flight = flightOf(event);
      if (!flight || !flight.to) continue;
      const key = `${flight.from}>${flight.to}:${flight.label}`;
      const before = this.recent.get(key);
      if (before && wall - before.start < MERGE_MS) {
        before.count += 1;
        continue;
      }
      if (this.flights.length >= LIMIT) continue;
      const made = { ...flight, seq: event.seq, start: wall, count: 1 };
      this.recent.set(key, made);
      this.flights.push(made);
    }
    if (this.recent.size > 400) this.recent.clear();
  }

  clear() {
    this.flights.length = 0;
    this.recent.clear();
  }

  /** What stands still on its way; another list, or another chosen one, is drawn anew. */
  stand(standing, chosen) {
    const same = this.chosen === chosen && this.standing.length === standing.length && standing.every((one, index) => one.key === this.standing[index].key && one.share === this.standing[index].share);
    if (same) return;
    Object.assign(this, { standing, chosen, clean: false });
    if (standing.length) this.clear();
  }

  get busy() {
    return this.flights.length > 0 || !this.clean;
  }

  /** The message under way nearest to a point of the stage, or null. */
  hit(x, y, scene, state, wall) {
    let best = null;
    let least = HIT;
    for (const flight of [...this.standing, ...this.flights]) {
      const [from, to] = [boxOf(scene, flight.from, state), boxOf(scene, flight.to, state)];
      if (!from || !to || from === to) continue;
      const at = along(way(scene, from, to, flight.answer), this.#share(flight, wall));
      const far = Math.hypot(at.x - x, at.y - y);
      if (far < least) [best, least] = [flight, far];
    }
    return best;
  }

  /** How far on its way a message is drawn. */
  #share(flight, wall) {
    if (flight.share !== undefined) return flight.share;
    const share = Math.min(1, (wall - flight.start) / FLIGHT_MS);
    return this.reduced.matches ? 1 : share * share * (3 - 2 * share);
  }

  /** Draw what is under way at `wall`. */
  paint(scene, state, palette, wall) {
    const { context, canvas } = this;
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [Math.round(scene.width * ratio), Math.round(scene.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, scene.width, scene.height);
    this.width = scene.width;
    this.flights = this.flights.filter((flight) => wall - flight.start < FLIGHT_MS);
    const labelled = this.flights.length <= LABELLED;
    this.taken = [];
    for (const flight of this.flights) this.#flight(flight, scene, state, palette, wall, labelled);
    for (const flight of this.standing) this.#stands(flight, scene, state, palette);
    this.clean = this.flights.length === 0;
  }

  #flight(flight, scene, state, palette, wall, labelled) {
    const from = boxOf(scene, flight.from, state);
    const to = boxOf(scene, flight.to, state);
    if (!from || !to || from === to) return;
    const { context } = this;
    const curve = way(scene, from, to, flight.answer);
    const share = Math.min(1, (wall - flight.start) / FLIGHT_MS);
    const at = along(curve, this.#share(flight, wall));
    const broker = brokerOf(flight.from);
    const colour = flight.failed ? palette.bad : broker ? palette.broker(broker) : palette.ink;
    context.globalAlpha = flight.quiet ? 0.55 : 1;
    context.strokeStyle = colour;
    context.lineWidth = Math.min(5, 1 + Math.log2(flight.count));
    context.setLineDash(flight.answer ? [3, 4] : []);
    context.beginPath();
    context.moveTo(curve[0].x, curve[0].y);
    context.quadraticCurveTo(curve[1].x, curve[1].y, curve[2].x, curve[2].y);
    context.globalAlpha *= 0.35 * (1 - share * 0.6);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = flight.quiet ? 0.6 : 1;
    context.fillStyle = colour;
    this.#shape(at, flight, Math.min(8, 4.5 + Math.log2(flight.count)));
    if (labelled && !flight.quiet && (flight.failed || (share > 0.14 && share < 0.8))) this.#label(at, flight, palette);
    context.globalAlpha = 1;
  }

  #stands(flight, scene, state, palette) {
    const [from, to] = [boxOf(scene, flight.from, state), boxOf(scene, flight.to, state)];
    if (!from || !to || from === to) return;
    const { context } = this;
    const at = along(way(scene, from, to, flight.answer), flight.share);
    const broker = brokerOf(flight.from);
    context.fillStyle = flight.kind === "closed" ? palette.bad : broker ? palette.broker(broker) : palette.ink;
    context.strokeStyle = flight.key === this.chosen ? palette.ink : palette.ground;
    context.lineWidth = flight.key === this.chosen ? 3 : 1.5;
    this.#shape(at, flight, flight.first ? 7.5 : 5.5);
    context.stroke();
    if (flight.first) this.#label(at, { ...flight, count: 1 + this.standing.filter((one) => one.from === flight.from && one.to === flight.to && one !== flight).length }, palette);
  }

  #shape({ x, y }, { answer, quiet }, size) {
    const { context } = this;
    const r = quiet ? size * 0.7 : size;
    context.beginPath();
    if (answer) {
      context.moveTo(x, y - r);
      context.lineTo(x + r, y);
      context.lineTo(x, y + r);
      context.lineTo(x - r, y);
      context.closePath();
    } else context.arc(x, y, r, 0, 7);
    context.fill();
  }

  #label({ x, y: middle }, flight, palette) {
    const { context } = this;
    const { label, count } = flight;
    const y = brokerOf(flight.from) ? middle : middle - 6;
    const text = count > 1 ? `${label} ×${count}` : label;
    context.font = palette.font(11.5);
    const wide = context.measureText(text).width;
    const left = Math.max(2, Math.min(this.width - wide - 3, brokerOf(flight.from) ? x - wide - 8 : x - wide / 2));
    const right = left + wide;
    if (this.taken.some((box) => left < box.right && right > box.left && Math.abs(y - box.y) < 15)) return;
    this.taken.push({ left, right, y });
    context.lineWidth = 3.5;
    context.lineJoin = "round";
    context.strokeStyle = palette.ground;
    context.strokeText(text, left, y - 5);
    context.fillStyle = palette.ink;
    context.fillText(text, left, y - 5);
  }
}
