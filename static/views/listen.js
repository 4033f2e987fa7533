/** Keys, forms, dialogs, language: what the person does, turned into the app's methods. */
import { written } from "../model/written.js";
import { base } from "../net/api.js";
import { clientsDialog } from "./clients.js";
import { besideDialog } from "./beside.js";
import { compareDialog, forkDialog } from "./fork.js";
import { Follow } from "../inspect/follow.js";
import { help } from "./help.js";
import { sparkDialog } from "./spark/dialog.js";
import { menus } from "./menu.js";
import { presentDialog } from "./present.js";
import { TermCard } from "./terms.js";
import { SPEEDS } from "./timebar.js";
import { patch } from "./patch.js";
import { storyKeys, walks } from "./walk.js";

const $ = (id) => document.getElementById(id);
const NOTICE_MS = 7000;
const FRESH_MS = 400; // of a notice: what was pressed so shortly after has led to it

/** Texts of the static part of the page, after a change of language. */
export function relabel(words, root = document) {
  for (const element of root.querySelectorAll("[data-t]")) element.textContent = words.t(element.dataset.t);
  for (const element of root.querySelectorAll("[data-t-label]")) element.setAttribute("aria-label", words.t(element.dataset.tLabel));
  for (const element of root.querySelectorAll("[data-t-title]")) element.title = words.t(element.dataset.tTitle);
  for (const element of root.querySelectorAll("[data-t-placeholder]")) element.placeholder = words.t(element.dataset.tPlaceholder);
}

function notices(app) {
  const since = new WeakMap();
  /** What was refused or failed looks like an error; news (`kind`: "news") does not. */
  const show = (text, kind = "bad") => {
    const note = document.createElement("p");
    note.className = kind;
    note.textContent = text;
    $("notices").append(note);
    since.set(note, performance.now());
    setTimeout(() => note.remove(), NOTICE_MS);
    while ($("notices").children.length > 3) $("notices").firstChild.remove();
  };
  /** The next thing that somebody does ends it; to go on with the Tab key is nothing yet. */
  const end = ({ key }) => {
    if (key === "Tab" || key === "Shift") return;
    for (const note of $("notices").querySelectorAll("p")) if (performance.now() - since.get(note) > FRESH_MS) note.remove();
  };
  for (const act of ["pointerdown", "keydown"]) document.addEventListener(act, end, true);
  app.notice = show;
}

function produce(app) {
  const form = $("produce");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const topic = app.topicName;
    if (!topic) {
      $("topic-open").click();
      return;
    }
    $("produce-result").textContent = ""; // what was written before says nothing about this one
    const answer = await app.command({ do: "produce", topic, acks: app.acks, ...written(
      Object.fromEntries(new FormData(form)), app.words.t("levers.value_hint")) });
    if (!answer.ok) return;
    const known = answer.offset !== undefined && answer.partition !== undefined;
    const told = known ? app.words.t("levers.written_at", { topic, ...answer }) : app.words.t(answer.pending ? "levers.not_yet" : "levers.written");
    $("produce-result").textContent = `${answer.pending ? "…" : "✓"} ${told}`;
  });
}

/** ApiVersions in any version: to the broker of the form, else to the one that leads what is looked at. */
function askVersions(app) {
  $("ask-versions").addEventListener("click", async () => {
    const broker = $("produce").elements.to.value;
    const whom = broker === "" ? { leader_of: `${app.topicName}-${app.chosenNumber}` } : { broker: Number(broker) };
    const answer = await app.command({ do: "ask_versions", ...whom, version: Number($("ask-version").value || 0) });
    if (answer.ok) $("produce-result").textContent = "✓";
  });
}

/** With an id of the lab's choice, or, with ZooKeeper, with one that the tree gives. */
function newBroker(app) {
  for (const [id, command] of [["broker-add", { do: "add_broker" }], ["generated-add", { do: "add_broker", generated: true }]]) {
    $(id).addEventListener("click", async () => {
      const answer = await app.command(command);
      if (answer.ok) app.notice(app.words.t("levers.broker_added", { broker: answer.broker }), "news");
    });
  }
}

/** Voters can change only where they stand in the log: kraft.version 1. */
function newController(app) {
  $("controller-add").addEventListener("click", async () => {
    if (!app.state.quorum?.kraft_version) {
      const raised = await app.command({ do: "update_feature", feature: "kraft.version", level: 1 });
      if (!raised.ok) return;
    }
    const answer = await app.command({ do: "add_controller" });
    if (answer.ok) app.notice(app.words.t(answer.pending ? "levers.controller_comes" : "levers.controller_added", { id: String(answer.controller) }), "news");
  });
}

function topicDialog(app) {
  const dialog = $("topic-dialog");
  const form = $("topic-form");
  $("topic-open").addEventListener("click", () => {
    const brokers = Object.keys(app.state.brokers).length;
    form.elements.replication.max = String(brokers);
    form.elements.replication.value = String(Math.min(3, brokers));
    dialog.showModal();
    form.elements.name.select();
  });
  form.querySelector(".cancel").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async () => {
    const { name, partitions, replication, min_isr: least } = Object.fromEntries(new FormData(form));
    const answer = await app.command({
      do: "create_topic", topic: name, partitions: Number(partitions), replication_factor: Number(replication), configs: { "min.insync.replicas": least },
    });
    if (answer.ok) app.choose(name);
  });
}

function helpDialog(app) {
  const dialog = $("help");
  app.closeHelp = () => dialog.close();
  app.openHelp = () => {
    patch(dialog, help(app));
    dialog.showModal();
  };
  $("help-open").addEventListener("click", app.openHelp);
}

function dialogs(app) {
  app.openDialog = (id) => {
    const views = {
      "fork-dialog": forkDialog, "compare-dialog": compareDialog, "beside-dialog": besideDialog, "spark-dialog": sparkDialog,
      "present-dialog": presentDialog, "clients-dialog": clientsDialog
    };
    patch($(id), views[id](app));
    if (!$(id).open) $(id).showModal();
  };
  app.closeDialog = (id) => $(id).close();
  $("present-dialog").addEventListener("close", () => app.present.answer(null)); // Escape
}

function language(app) {
  const form = $("language-form");
  $("language").addEventListener("change", async () => {
    const wanted = $("language").value;
    const body = new FormData(form);
    const answer = await fetch(`${base}/messages/${wanted}.json`);
    app.setLanguage(await answer.json());
    document.documentElement.lang = wanted;
    document.title = app.words.t("title");
    relabel(app.words);
    await fetch(form.action, { method: "POST", body, headers: { "X-Requested-With": "fetch" }, redirect: "manual" });
  });
}

function scrubber(app) {
  const input = $("moment");
  input.addEventListener("input", () => {
    const [from, to] = globalThis.lab.screen.range();
    if (Number(input.value) >= 1000) app.goLive();
    else app.clock.goTime(from + ((to - from) * Number(input.value)) / 1000);
    app.set({ selected: null });
  });
}

function faster(app, by) {
  const now = app.clock.live ? app.clock.cluster.speed : app.clock.speed;
  const at = SPEEDS.findIndex((speed) => speed <= now);
  app.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, (at < 0 ? SPEEDS.length - 1 : at) - by))]);
}

function keys(app) {
  app.follow = new Follow(app);
  let killing = 0;
  const acts = {
    " ": () => app.play(), ArrowLeft: (event) => app.step(-1, event.shiftKey), ArrowRight: (event) => app.step(1, event.shiftKey),
    "[": () => faster(app, -1), "]": () => faster(app, 1), l: () => app.goLive(), f: () => app.desk.forks.ask(),
    p: () => $("produce").requestSubmit(), g: () => app.follow.toggle(), n: () => app.desk.watch.active && app.desk.watch.skip(),
    "?": () => app.openHelp(), k: () => { killing = performance.now(); }, Escape: () => app.desk.close() || app.closeRecord() || app.goLive(),
  };
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (target.matches("input:not([type=checkbox]), select, textarea") || (event.key === " " && target.matches("button, summary, [type=checkbox]"))) return;
    if (/^[1-9]$/.test(event.key) && performance.now() - killing < 3000) {
      killing = 0;
      if (app.state.brokers[event.key]) app.command({ do: "kill", broker: Number(event.key) });
      return;
    }
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}

/** The focused time lines: left and right step as everywhere, the other keys of a slider too. */
function lanes(app) {
  const acts = {
    ArrowUp: () => app.step(1), ArrowDown: () => app.step(-1), PageUp: () => app.step(1, true), PageDown: () => app.step(-1, true), End: () => app.goLive(),
    Home: () => {
      app.clock.go(app.history.begin + 1);
      app.set({ selected: null });
    },
  };
  $("lanes-canvas").addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
}

/** Who may only look: what changes the cluster looks as if it could not be used, and says why when somebody tries. */
function lookers(app) {
  if (!app.lookOnly) return;
  const rooms = ["levers", "traffic", "topic-open", "rolling-switch"].map($);
  for (const room of rooms) room.inert = true;
  const within = (x, y) => (room) => {
    const { left, right, top, bottom } = room.getBoundingClientRect();
    return x >= left && x <= right && y >= top && y <= bottom;
  };
  document.addEventListener("pointerdown", ({ clientX, clientY, target }) => {
    const above = target.closest?.("dialog, #drawer, .menu");
    const closed = [...(above ? [] : rooms), ...(above ?? document.body).querySelectorAll(":disabled")];
    if (closed.some(within(clientX, clientY))) app.notice(app.words.t("look_only"));
  }, true);
}

/** Listen to everything. */
export function listen(app) {
  for (const part of [
    lookers, menus, walks, storyKeys, notices, produce, askVersions, newBroker, newController, topicDialog, helpDialog, dialogs, language,
    scrubber, lanes, keys
  ])
    part(app);
  app.termCard = new TermCard(app, $("term-card"));
  $("sheet-toggle").addEventListener("click", () => app.set({ sheet: !app.sheet }));
  $("stage-topic").addEventListener("change", () => app.choose($("stage-topic").value));
  $("cell-text").addEventListener("change", () => app.set({ cellText: $("cell-text").value }));
}
