/**
 * Messages under way: one canvas above the stage.
 *
 *     a few      a dot each, with its label where there is room (`traffic.js`: up to 500)
 *     many       one crowd a way: its waves as dots, their sum as one label
 *     standing   while the cluster stands still, or a moment of the past is looked at: what is on its way there
 *
 * With reduced motion nothing travels: each way on which something is under way is an arrow with its sum, and the
 * picture changes in steps of STEP_MS.
 */
import { Inscriptions } from "./inscriptions.js";
import { arrange } from "./labels.js";
import { along, boxOf, way } from "./layout.js";
import { SMALL } from "./letters.js";
import { FLIGHT_MS, Traffic, crowdLabel } from "./traffic.js";
import { brokerOf } from "../model/names.js";

const HIT = 14; // pixels around a message that belong to it
const STEP_MS = 500;
const STILL_MS = 1600; // how long an arrow stays where nothing travels
const LABEL_MS = 250; // how long a crowd keeps its label
const STANDING = 500; // above, only the first of each link is drawn

export class Dots {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.standing = []; // model/flights.js
    this.chosen = null;
    this.sparing = false; // with labels
    this.clean = true;
    this.painted = -Infinity;
    this.widths = new Map(); // label -> pixels
    this.inscriptions = new Inscriptions();
    this.reduced = matchMedia("(prefers-reduced-motion: reduce)");
    const begin = () => { this.traffic = this.reduced.matches ? new Traffic(STILL_MS, 0) : new Traffic(); };
    this.reduced.addEventListener("change", begin);
    begin();
  }

  /** The messages that are drawn by themselves. */
  get flights() {
    return this.traffic.flights;
  }

  /** Start what `events` send. */
  add(events, wall) {
    const { busy } = this.traffic;
    this.traffic.add(events, wall);
    if (busy && !this.traffic.busy) this.clean = false; // what has arrived is still to be wiped off
  }

  clear() {
    this.traffic.clear();
    this.clean = false;
  }

  /** Another layout of the stage: what stands is drawn anew in its place. */
  fit({ width, height, left, right, brokers }) {
    const layout = [width, height, left.length, right.length, brokers.length].join();
    if (layout !== this.layout) Object.assign(this, { layout, clean: false });
  }

  /** What stands still on its way; another list, or another chosen one, is drawn anew. */
  stand(standing, chosen) {
    const same = this.chosen === chosen && this.standing.length === standing.length
      && standing.every((one, index) => one.key === this.standing[index].key && one.share === this.standing[index].share);
    if (same) return;
    Object.assign(this, { standing, chosen, clean: false });
    if (standing.length) this.clear();
  }

  get busy() {
    return this.traffic.busy || !this.clean;
  }

  /** The message under way nearest to a point of the stage, or null. */
  hit(x, y, scene, state, wall) {
    let best = null;
    let least = HIT;
    const crowds = [...this.traffic.crowds.values()].flatMap(({ waves, ...crowd }) => waves.map((wave) => ({ ...crowd, ...wave })));
    for (const flight of [...this.standing, ...this.flights, ...crowds]) {
      const curve = curveOf(flight, scene, state);
      if (!curve) continue;
      const at = along(curve, this.#share(flight, wall));
      const far = Math.hypot(at.x - x, at.y - y);
      if (far < least) [best, least] = [flight, far];
    }
    return best;
  }

  /** How far on its way a message is drawn. */
  #share(flight, wall) {
    if (flight.share !== undefined) return flight.share;
    if (this.reduced.matches) return 0.5;
    const share = Math.min(1, (wall - flight.start) / FLIGHT_MS);
    return share * share * (3 - 2 * share);
  }

  /** Draw what is under way at `wall`. */
  paint(scene, state, palette, wall) {
    if (this.reduced.matches && this.clean && wall - this.painted < STEP_MS) return;
    this.painted = wall;
    const { context, canvas, traffic } = this;
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [Math.round(scene.width * ratio), Math.round(scene.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, scene.width, scene.height);
    Object.assign(this, { width: scene.width, labels: [], loud: [], curves: new Map() });
    traffic.expire(wall);
    for (const crowd of traffic.crowds.values()) this.#crowd(crowd, scene, state, palette, wall);
    for (const flight of traffic.flights) this.#flight(flight, scene, state, palette, wall);
    this.#stand(scene, state, palette);
    this.#sign(scene, palette);
    this.#write(scene, palette);
    this.clean = true; // what is under way is painted anew anyway
    if (!traffic.busy) this.painted = -Infinity;
  }

  #way(curve, dashed, alpha, thick) {
    const { context } = this;
    context.setLineDash(dashed ? [3, 4] : []);
    context.globalAlpha = alpha;
    context.lineWidth = thick;
    context.beginPath();
    context.moveTo(curve[0].x, curve[0].y);
    for (let at = 1; at < curve.length; at += 2) context.quadraticCurveTo(curve[at].x, curve[at].y, curve[at + 1].x, curve[at + 1].y);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /** The head of an arrow at the end of a way. */
  #head(curve) {
    const { context } = this;
    const [control, end] = curve.slice(-2);
    const angle = Math.atan2(end.y - control.y, end.x - control.x);
    context.beginPath();
    context.moveTo(end.x, end.y);
    for (const side of [-0.42, 0.42]) context.lineTo(end.x - 11 * Math.cos(angle + side), end.y - 11 * Math.sin(angle + side));
    context.closePath();
    context.fill();
  }

  #flight(flight, scene, state, palette, wall) {
    const { context } = this;
    context.strokeStyle = context.fillStyle = colourOf(flight, palette);
    const key = `${flight.from}>${flight.to}:${flight.answer}:${flight.failed}`;
    let curve = this.curves.get(key);
    if (curve === undefined) {
      this.curves.set(key, (curve = curveOf(flight, scene, state)));
      if (curve) this.#way(curve, flight.answer, flight.quiet ? 0.18 : 0.3, Math.min(5, 1.2 + Math.log2(flight.count)));
    }
    if (!curve) return;
    const share = Math.min(1, (wall - flight.start) / FLIGHT_MS);
    const at = along(curve, this.#share(flight, wall));
    context.globalAlpha = flight.quiet ? 0.6 : 1;
    this.#shape(at, flight, Math.min(8, 4.5 + Math.log2(flight.count)));
    context.globalAlpha = 1;
    if (flight.failed || (share > 0.08 && share < 0.85 && !this.#unnamed(flight)))
      this.#label(placesOf(curve, at, flight), flight, flight.count > 1 ? [`${flight.label} ×${flight.count}`, flight.label] : [flight.label]);
  }

  /** Answers that say nothing but yes have no name where the picture is to be calm: the question beside them has one. */
  #unnamed({ answer, failed }) {
    return this.sparing && answer && !failed;
  }

  #crowd(crowd, scene, state, palette, wall) {
    const curve = curveOf(crowd, scene, state);
    if (!curve) return;
    const { context } = this;
    const count = crowd.waves.reduce((sum, wave) => sum + wave.count, 0);
    const still = this.reduced.matches;
    context.strokeStyle = context.fillStyle = colourOf(crowd, palette);
    this.#way(curve, crowd.answer, still ? 0.9 : 0.5, Math.min(7, 1.4 + Math.log2(count) / 2));
    if (still) this.#head(curve);
    else for (const wave of crowd.waves) this.#shape(along(curve, this.#share(wave, wall)), crowd, Math.min(9, 4 + Math.log2(wave.count) / 1.5));
    if (!crowd.text || wall - crowd.written > LABEL_MS) Object.assign(crowd, { text: crowdLabel(crowd), written: wall });
    if (!this.#unnamed(crowd)) this.#label([0.5, 0.3, 0.7].map((share) => along(curve, share)), crowd, [crowd.text, crowdLabel(crowd, 1)]);
  }

  #stand(scene, state, palette) {
    const { context } = this;
    const drawn = this.standing.length <= STANDING ? this.standing : this.standing.filter((one) => one.first);
    const behind = behindFirst(this.standing);
    for (const flight of drawn) {
      const curve = curveOf(flight, scene, state);
      if (!curve) continue;
      context.strokeStyle = context.fillStyle = colourOf(flight, palette);
      if (flight.first) {
        this.#way(curve, flight.answer, 0.7, 1.4);
        this.#head(curve);
      }
      context.strokeStyle = flight.key === this.chosen ? palette.ink : palette.ground;
      context.lineWidth = flight.key === this.chosen ? 3 : 1.5;
      const at = along(curve, flight.share);
      this.#shape(at, flight, flight.first ? 7.5 : 5.5);
      context.stroke();
      const { same = 0, others = 0 } = (flight.first && behind.get(`${flight.from}>${flight.to}`)) || {};
      const whole = `${flight.label}${same ? ` ×${same + 1}` : ""}${others ? ` · +${others}` : ""}`;
      this.#label(placesOf(curve, at, flight), { ...flight, labelled: flight.first, quiet: !flight.first }, [...new Set([whole, flight.label])]);
    }
  }

  #shape({ x, y }, { answer, quiet }, size) {
    const { context } = this;
    if (!answer && !quiet) this.loud.push({ x, y });
    const r = quiet ? size * 0.7 : size;
    const inside = Math.max(r, Math.min(this.width - r, x)); // whole, also where a way goes along the stage's edge
    context.beginPath();
    if (answer) {
      context.moveTo(inside, y - r);
      context.lineTo(inside + r, y);
      context.lineTo(inside, y + r);
      context.lineTo(inside - r, y);
      context.closePath();
    } else context.arc(inside, y, r, 0, 7);
    context.fill();
  }

  /** A label of `flight` at one of `places`, with the first of `texts` for which there is room. */
  #label(places, flight, texts) {
    const rank = (flight.labelled ? 2 : 0) + (flight.failed ? 4 : flight.quiet ? 0 : 1);
    const side = brokerOf(flight.from) ? Math.sign(places[0].x - this.width / 2) : 0; // of brokers: outside the cards
    this.labels.push({ places, texts, rank, side, flight, before: flight.line, way: `${flight.from}>${flight.to}:${flight.answer}` });
  }

  #width(text) {
    let wide = this.widths.get(text);
    if (wide === undefined) {
      if (this.widths.size > 2000) this.widths.clear();
      this.widths.set(text, (wide = this.context.measureText(text).width));
    }
    return wide;
  }

  /** What links do, once more above what passes: where there is no room beside a way it is written on it. */
  #sign({ signs = [] }, palette) {
    const look = { font: palette.font(SMALL, 700), size: SMALL, ground: palette.ground, ink: palette.warn, ratio: globalThis.devicePixelRatio || 1 };
    this.context.font = look.font; // of the widths
    for (const { sign, cut, upright, aside, x, y, left, right, top, bottom } of signs) {
      if (cut || upright) continue;
      this.context.fillStyle = palette.ground;
      this.context.fillRect(left, top, right - left, bottom - top + 1);
      const wide = this.context.measureText(sign).width;
      this.inscriptions.put(this.context, sign, aside ? x - wide : x - wide / 2, y, look);
    }
  }

  /** Labels that cover neither cards nor one another: failures first, then those that were there before, then the loud ones. */
  #write(scene, palette) {
    const { context } = this;
    const look = { font: palette.font(SMALL), size: SMALL, ground: palette.ground, ratio: globalThis.devicePixelRatio || 1 };
    context.font = look.font; // of the widths
    for (const { flight, place, text } of arrange(this.labels, scene, (written) => this.#width(written), this.loud)) {
      Object.assign(flight, { labelled: place !== null, line: place?.line });
      if (!place) continue;
      this.inscriptions.put(context, text, place.left, place.base, { ...look, ink: flight.quiet ? palette.soft : palette.ink });
    }
  }
}

/** How many messages stand behind the first of each link: of its kind, and others, as the label of a crowd has them. */
function behindFirst(standing) {
  const firsts = new Map(standing.filter(({ first }) => first).map(({ from, to, label }) => [`${from}>${to}`, { label, same: 0, others: 0 }]));
  for (const { from, to, first, label } of standing) {
    const one = firsts.get(`${from}>${to}`);
    if (!first && one) one[one.label === label ? "same" : "others"] += 1;
  }
  return firsts;
}

function curveOf(flight, scene, state) {
  const [from, to] = [boxOf(scene, flight.from, state), boxOf(scene, flight.to, state)];
  return from && to && from !== to ? way(scene, from, to, flight.answer) : null;
}

/** Where the label of a flight may stand: at it, and what failed on a stacked stage also where its way leaves or comes to the client. */
function placesOf(curve, at, { failed, answer }) {
  return failed && curve.length > 3 ? [at, answer ? curve.at(-4) : curve[3]] : [at];
}

function colourOf({ from, failed, kind }, palette) {
  const broker = brokerOf(from);
  return failed || kind === "closed" ? palette.bad : broker ? palette.broker(broker) : palette.ink;
}
