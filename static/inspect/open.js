/** Puts the inspector's helpers into the app: questions, the comparison of metrics, lessons, clicks on messages. */
import { refusal } from "../i18n/problems.js";
import { Runner } from "../model/macros.js";
import { Inquiry } from "./inquiry.js";
import { Measure } from "./measure.js";
import { Attend } from "./attend.js";
import { Messages } from "./messages.js";
import { Records } from "./records.js";
import { lights } from "../model/figures.js";
import { passing, positionOf, standing } from "../model/flights.js";
import { LESSON_KEYS } from "../views/faults.js";

const TICK_MS = 120;
const AGAIN_MS = 150;
const LESSON_MS = 3000;

/** Before the first picture. */
export function prepare(app) {
  app.inquiry = new Inquiry((question) => app.asking(question), () => { app.dirty = true; });
  app.asking = () => Promise.resolve({ ok: false, lost: true });
  app.measure = new Measure(app.inquiry, app.clock);
  app.runner = new Runner(app);
  app.messages = new Messages((question, progress) => app.asking(question, progress), () => { app.dirty = true; });
  app.attend = new Attend(app);
  app.records = new Records(app);
  Object.defineProperty(app, "standing", { get: () => underWay(app) });
  let past = { position: null, found: [] };
  Object.defineProperty(app, "passing", { get: () => {
    const position = app.clock.viewed;
    if (past.position !== position || past.end !== app.history.end) past = { position, end: app.history.end, found: passing(app.history, position) };
    return past.found;
  } });
  app.lookAtFlight = (flight) => {
    const position = positionOf(app.history, flight);
    app.set({ flight: flight.key, looked: position ?? app.looked, messageLit: null });
    app.showTab("request");
  };
  const withNext = (verb) => async ({ from, to }) => {
    const answer = await app.command({ do: verb, between: [from, to] });
    await app.inquiry.fresh("flights");
    app.set({ flight: null });
    return answer;
  };
  app.deliver = withNext("deliver_next");
  app.drop = withNext("drop_next");
  app.refusal = (answer) => refusal(answer, app.words);
  app.lookAt = (position) => {
    app.set({ looked: position });
    app.showTab("request");
  };
  app.openBroker = (id) => {
    app.set({ brokerOpen: String(id) });
    app.showTab("brokers");
  };
  app.openRecord = (name, offset, broker) => {
    app.choose(name.slice(0, name.lastIndexOf("-")), name.slice(name.lastIndexOf("-") + 1));
    app.set({ record: { name, offset, broker: Number(broker) }, ledgerView: "record" });
  };
  /** Whether one was open beside the stage, where nothing else of its panel is shown. */
  app.closeRecord = () => {
    if (!app.record || app.mode === "inspect") return false;
    app.set({ record: null, ledgerView: "batches" });
    return true;
  };
  app.showBytes = (offset) => app.set({ byteOffset: offset, ledgerView: "bytes", fieldLit: null, mode: "inspect" });
  app.goToLight = (name) => {
    const first = app.state.invariants[name]?.first;
    app.showTab("lights");
    if (first) goToSeq(app, first.seq);
  };
}

/** What is under way, asked for while the cluster stands still or the tab of requests is open. */
function underWay(app) {
  const { clock, history } = app;
  if (!clock.live || !(clock.cluster.paused || app.tab === "request")) return [];
  const entry = app.inquiry.get("flights");
  const { found, t } = entry;
  // What was asked for before the cluster stood still is asked for again at once.
  if (clock.cluster.paused && t < clock.cluster.t && !entry.waiting && performance.now() - entry.asked > AGAIN_MS) app.inquiry.fresh("flights");
  const sentAt = (seq) => {
    const position = history.positionOf(seq);
    return position === null ? null : history.at(position)?.t ?? null;
  };
  return found ? standing(found.flights, t, sentAt) : [];
}

async function goToSeq(app, seq) {
  await app.desk.past?.toSeq(seq);
  const position = app.history.positionOf(seq);
  if (position !== null && position !== undefined && app.history.at(position)) app.select(position);
  else app.clock.goTime(app.history.timeAt(app.history.positionBehind(seq)));
  app.set({});
}

/** The chosen message if it is the first of its link, else the first of all. */
function deliverFirst(app) {
  const { standing } = app;
  const chosen = standing.find((one) => one.key === app.flight && one.first) ?? standing.find((one) => one.first);
  if (chosen) app.deliver(chosen);
  else app.showTab("request");
}

function keys(app) {
  let lesson = -Infinity;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || event.target.matches("input:not([type=checkbox]), select, textarea")) return;
    const key = event.key.toLowerCase();
    if (key === "h") app.set({ ledgerView: app.ledgerView === "bytes" ? "batches" : "bytes", mode: "inspect" });
    else if (key === "d") deliverFirst(app);
    else if (key === "x") lesson = performance.now();
    else if (performance.now() - lesson < LESSON_MS) {
      const wanted = Object.entries(LESSON_KEYS).find(([, digit]) => digit === event.key)?.[0];
      lesson = -Infinity;
      if (wanted) app.startLesson(wanted);
    }
  });
}

/** Once the wire is there. */
export function connect(app, socket, screen) {
  app.asking = (question, progress) => socket.ask(question, progress);
  app.inquiry.open = true;
  const send = app.send;
  app.send = (command) => {
    app.measure.begin(command);
    return send(command);
  };
  setInterval(() => {
    app.runner.tick();
    if (document.hidden || !app.online) return;
    app.inquiry.tick();
    app.records.tick();
    app.measure.tick(app.desk.run, app.tab === "metrics" ? 0 : lights(app.history.live).partitions);
  }, TICK_MS);
  document.getElementById("scene").addEventListener("click", (event) => {
    const { left, top } = document.getElementById("scene").getBoundingClientRect();
    const flight = app.scene && screen.dots.hit(event.clientX - left, event.clientY - top, app.scene, app.state, performance.now());
    if (!flight) return;
    event.stopPropagation();
    if (flight.position !== undefined) return app.lookAt(flight.position);
    if (flight.key) return app.lookAtFlight(flight);
    const position = app.history.positionOf(flight.seq);
    if (position !== null && position >= 0) app.lookAt(position);
  }, true);
  keys(app);
}
