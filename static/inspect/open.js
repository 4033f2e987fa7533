/** The inspector's helpers of the app: questions, the comparison of metrics, lessons; keys, and clicks on messages. */
import { Runner } from "../model/macros.js";
import { Inquiry } from "./inquiry.js";
import { Measure } from "./measure.js";
import { Attend } from "./attend.js";
import { Messages } from "./messages.js";
import { Records } from "./records.js";
import { lights } from "../model/figures.js";
import { LESSON_KEYS } from "../views/faults.js";

const TICK_MS = 120;
const LESSON_MS = 3000;

/** Before the first picture. */
export function prepare(app) {
  app.inquiry = new Inquiry((question) => app.asking(question), () => { app.dirty = true; });
  app.measure = new Measure(app.inquiry, app.clock);
  app.runner = new Runner(app);
  app.messages = new Messages((question, progress) => app.asking(question, progress), () => { app.dirty = true; });
  app.attend = new Attend(app);
  app.records = new Records(app);
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
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")
      || event.target.matches("input:not([type=checkbox]), select, textarea"))
      return;
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
    if (event.target.closest("[data-menu], #stage-menu")) return; // what passes by a thing or a menu does not take its click
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
