/**
 * The screen: which view goes into which element, and how often.
 *
 *     every frame          dots, while any are under way
 *     15 times a second    stage, lanes, when something has changed
 *     10 times a second    tables, story
 *      5 times a second    the cluster's time, and the next step that waits for it; at once when somebody has done something
 */
import { Dots } from "../draw/dots.js";
import { Lanes, slotsOn } from "../draw/lanes.js";
import { Palette } from "../draw/palette.js";
import { makeFolds, sketch } from "../draw/sketch.js";
import { sumsOf } from "../draw/traffic.js";
import { seconds } from "../i18n/format.js";
import { clientsDialog } from "./clients.js";
import { coach } from "./coach.js";
import { besideDialog } from "./beside.js";
import { compareDialog, forkDialog } from "./fork.js";
import { deskButtons, drawer } from "./drawer.js";
import { banners, lightChips, mode } from "./header.js";
import { openTab, panel, tabs, tabViews } from "./inspector.js";
import { moreLevers } from "./faults.js";
import { ledgerBody, ledgerTitle, ledgerViews } from "./ledger.js";
import { acks, brokerLevers, minIsr, segments, topicOptions, traffic, writeTitle } from "./levers.js";
import { cellTextOptions, legend, stage } from "./stage.js";
import { h, patch } from "./patch.js";
import { stageMenu } from "./menu.js";
import { isKRaft } from "../model/names.js";
import { dress, modeSwitch, shows } from "./modes.js";
import { presentDialog } from "./present.js";
import { rollingSwitch } from "./spark/buttons.js";
import { sparkDialog } from "./spark/dialog.js";
import { rollingStrip } from "./spark/rolling.js";
import { sentence, storyFilter, storyList } from "./story.js";
import { spotLine, walksBelow } from "./walk.js";
import { cursorText, lanesWords, stageWords, wordsSwitch } from "./words.js";
import { earlier, marksOf, paintMarks, timeButtons, timeFacts } from "./timebar.js";

const STAGE_MS = 66;
const STEP_MS = 500; // of the pictures with reduced motion
const TABLE_MS = 100;
const FACTS_MS = 200;
const SLOW_MS = 500;
const REPLAYED = 5000; // events of a replay in one frame whose messages are still shown
const MEASURED = ["scene", "lanes-box", "scrubber", "inspector", "tab-panel"];
const SPANS = [1, 10, 60]; // seconds
/**
 * Strips: elements of the page's template, and what describes each. One line adds one. Those of `stage` follow the picture,
 * those of `table` change ten times a second, those of a panel only while it is shown.
 */
const STRIPS = {
  stage: { "mode-switch": modeSwitch, "stage-menu": stageMenu, lights: lightChips, mode, banners, "time-buttons": timeButtons, before: earlier },
  table: {
    traffic, "stage-topic": topicOptions, "cell-text": cellTextOptions, "story-filter": storyFilter, "story-list": storyList,
    desk: deskButtons, "rolling-switch": rollingSwitch, rolling: rollingStrip
  },
  levers: { "broker-levers": brokerLevers, acks, "min-isr": minIsr, "write-title": writeTitle, "more-levers": moreLevers },
  inspector: { tabs, "tab-views": tabViews },
  ledger: { "ledger-title": ledgerTitle, "ledger-views": ledgerViews, "ledger-body": ledgerBody },
};
/** Dialogs of the page's template, and what describes each while it is open. */
const DIALOGS = {
  "fork-dialog": forkDialog, "compare-dialog": compareDialog, "beside-dialog": besideDialog, "present-dialog": presentDialog,
  "clients-dialog": clientsDialog, "spark-dialog": sparkDialog
};
const $ = (id) => document.getElementById(id);

/** Draw the strips of one kind. */
function strips(kind, app) {
  for (const [id, describe] of Object.entries(STRIPS[kind])) patch($(id), describe(app));
}

export class Screen {
  constructor(app) {
    this.app = app;
    this.palette = new Palette(() => this.redraw());
    this.dots = new Dots($("scene-dots"));
    this.lanes = new Lanes($("lanes-canvas"));
    this.folds = makeFolds();
    this.sizes = {};
    this.drawn = { stage: 0, table: 0, slow: 0, cursor: 0, facts: 0, scene: -Infinity, lanes: -Infinity };
    this.stale = { stage: true, table: true, slow: true, scene: true };
    this.announced = 0;
    this.news = false; // the cluster is another one than in the last picture
    const watch = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries) this.sizes[target.id] = contentRect;
      app.dirty = true;
    });
    for (const id of MEASURED) watch.observe($(id));
    new ResizeObserver(() => document.body.style.setProperty("--head", `${$("top").offsetHeight}px`)).observe($("top")); // a drawer begins below it
    for (const id of MEASURED) this.sizes[id] = $(id).getBoundingClientRect();
    $("inspector").addEventListener("scroll", () => app.set({ tabScroll: $("inspector").scrollTop }), { passive: true });
    $("lanes-canvas").addEventListener("click", (event) => {
      const position = this.lanes.hit(event.offsetX, event.offsetY);
      if (position !== null) app.select(position);
    });
  }

  /** New events at the live edge: dots, and words for those who listen. */
  happened(events, first) {
    this.app.desk.tour.heard(events, this.app.history.stateAt(first));
    this.app.measure.heard(events, this.app.desk.run);
    if (this.app.clock.live) this.app.attend.heard(first + events.length);
    if (this.app.clock.live && !document.hidden) this.dots.add(events, performance.now());
    const item = this.app.story.items[this.app.story.items.length - 1];
    if (item?.loud && item.positions[0] >= first && performance.now() - this.announced > 1500) {
      this.announced = performance.now();
      $("announce").textContent = sentence(item, this.app.words);
    }
  }

  /** Whether something travels: messages, or the moment that is looked at. */
  get moves() {
    return this.dots.busy || this.app.clock.playing;
  }

  /** Whether what travels is polling alone, for which fewer frames do. */
  get calm() {
    return !this.app.clock.playing && this.dots.traffic.calm;
  }

  /** One animation frame. */
  frame(wall) {
    const { app } = this;
    const moving = app.clock.live ? app.online && !app.clock.cluster.paused : app.clock.playing;
    if (app.dirty || this.news) this.stale = { stage: true, table: true, slow: true, scene: true };
    if (app.dirty) this.drawn.facts = -Infinity;
    app.dirty = this.news = false;
    const stale = this.stale.stage || this.stale.scene;
    if ((stale || moving) && wall - this.drawn.stage >= STAGE_MS) {
      this.drawn.stage = wall;
      if (stale) this.#stage(wall);
      this.#facts(wall, stale);
    }
    if ((this.stale.table || app.moved) && wall - this.drawn.table >= TABLE_MS) this.#tables(wall);
    if ((this.stale.slow || moving) && wall - this.drawn.slow >= SLOW_MS) this.#slow(wall);
    this.#replay(wall);
    this.dots.sparing = app.mode === "learn";
    if (this.dots.busy && app.scene) this.dots.paint(app.scene, app.state, this.palette, wall);
  }

  #stage(wall) {
    const { app } = this;
    dress(app, document);
    strips("stage", app);
    const { width, height } = this.sizes.scene;
    if (width > 50 && !this.#still(wall, "scene")) {
      this.drawn.scene = wall;
      this.stale.scene = false;
      const box = `0 0 ${Math.round(width)} ${Math.round(height)}`;
      if ($("scene-svg").getAttribute("viewBox") !== box) $("scene-svg").setAttribute("viewBox", box);
      patch($("scene-svg"), stage(app, Math.round(width), Math.round(height)));
      this.dots.fit(app.scene);
    }
    $("stage-spot").classList.toggle("above", walksBelow(app));
    patch($("stage-spot"), document.activeElement === $("scene-svg") ? spotLine(app) : []);
    this.stale.stage = false;
    this.#coach();
  }

  /** The next step. Where its button had the focus and is gone the line has it: whoever uses the keys goes on there, not at the page's beginning. */
  #coach() {
    const held = $("coach").contains(document.activeElement);
    patch($("coach"), coach(this.app));
    if (held && document.activeElement === document.body) $("coach").focus({ preventScroll: true });
  }

  /** What goes on while nothing happens: time. `staged`: the coach is new already. */
  #facts(wall, staged) {
    const { app } = this;
    this.dots.stand(this.#standing(), app.flight);
    if (shows(app, "lanes") && !this.#still(wall, "lanes")) this.#lanes(wall);
    if (app.clock.live && !app.clock.cluster.paused && wall - this.drawn.facts < FACTS_MS) return;
    this.drawn.facts = wall;
    if (!staged) this.#coach();
    patch($("time-facts"), timeFacts(app));
    if (!app.clock.live || wall - this.drawn.cursor >= SLOW_MS) this.#cursor(wall);
    this.#moment();
  }

  /** With reduced motion the pictures of a running cluster change in steps; what a person does is seen at once. */
  #still(wall, part) {
    const { clock } = this.app;
    return this.dots.reduced.matches && clock.live && !clock.cluster.paused && wall - this.drawn[part] < STEP_MS;
  }

  /** Messages that stand on their way: those of a standing cluster, or of a moment of the past. */
  #standing() {
    const { app } = this;
    const { live, playing, cluster } = app.clock;
    if (!live) return playing ? [] : app.passing;
    return cluster.paused ? app.standing : [];
  }

  /** A replay of the past sends its messages again. */
  #replay(wall) {
    const { clock, history } = this.app;
    const { viewed } = clock;
    if (clock.playing && viewed > this.replayed && viewed - this.replayed < REPLAYED) this.dots.add(history.between(this.replayed, viewed), wall);
    this.replayed = viewed;
  }

  #lanes(wall) {
    const { app } = this;
    this.drawn.lanes = wall;
    const { width, height } = this.sizes["lanes-box"];
    if (width < 50) return;
    const { clock } = app;
    this.sketch = sketch(app.history, app.state, {
      position: clock.viewed, time: clock.viewedTime, span: app.span, axis: app.axis, chosen: app.chosen, still: this.dots.reduced.matches,
      rewound: !clock.live, room: slotsOn(width), folds: this.folds, open: !clock.live || clock.cluster.paused
    });
    const names = (node) => (node === "outside" ? app.words.t("stage.outside") : app.words.name(node));
    this.lanes.paint(this.sketch, {
      width, height, palette: this.palette, names, selected: app.selected, later: app.words.t("lanes.later")
    });
  }

  #moment() {
    const { clock, history } = this.app;
    const input = $("moment");
    const [from, to] = this.range();
    if (document.activeElement !== input || clock.live)
      input.value = String(clock.live ? 1000 : Math.round((1000 * (clock.viewedTime - from)) / Math.max(1, to - from)));
    input.setAttribute("aria-valuetext", this.app.words.t("time.now", { t: seconds(clock.viewedTime) }));
    input.disabled = history.end - history.begin < 2;
  }

  /** The virtual times that the scrubber spans. */
  range() {
    const { clock, history } = this.app;
    return [history.at(history.begin)?.t ?? 0, Math.max(clock.cluster.t, history.timeAt(history.end))];
  }

  /** All that changes ten times a second; where something has only come on, what shows how far. */
  #tables(wall) {
    this.drawn.table = wall;
    if (this.stale.table) this.#panels();
    this.stale.table = this.app.moved = false;
    this.#desk();
  }

  #panels() {
    const { app } = this;
    strips("table", app);
    $("stage-topic").value = app.topicName ?? "";
    $("cell-text").value = app.cellText;
    if (shows(app, "levers")) {
      strips("levers", app);
      $("controller-add").hidden = !isKRaft(app.state); // a run of the other generation has none
      $("generated-add").hidden = isKRaft(app.state);
    }
    $("sheet-toggle").setAttribute("aria-expanded", String(app.sheet));
    if (shows(app, "inspector")) this.#inspector();
    if (shows(app, "ledger")) strips("ledger", app);
  }

  #inspector() {
    const { app } = this;
    app.tabHeight = this.sizes.inspector.height; // to ask the element itself would lay the page out now, and again when it is drawn
    strips("inspector", app);
    $("tab-panel").setAttribute("aria-labelledby", openTab(app));
    patch($("tab-panel"), panel(app));
  }

  /** The drawer and the dialogs beside the live picture. */
  #desk() {
    const { app } = this;
    const opened = $("drawer").hidden && app.desk.panel;
    $("drawer").hidden = !app.desk.panel;
    const before = $("drawer").querySelector(".drawer-body");
    patch($("drawer"), drawer(app));
    const body = $("drawer").querySelector(".drawer-body");
    if (opened || (body !== before && document.activeElement === document.body)) body?.focus(); // what had the focus is gone
    for (const [id, describe] of Object.entries(DIALOGS)) if ($(id).open) patch($(id), describe(app));
  }

  #slow(wall) {
    const { app } = this;
    this.drawn.slow = wall;
    this.stale.slow = false;
    patch($("legend"), legend(app));
    patch($("lanes-controls"), this.#lanesControls());
    const { width } = this.sizes.scrubber;
    const [from, to] = this.range();
    paintMarks($("marks"), marksOf(app.story.items, from, to, width), this.palette, width, 18);
    this.#words();
  }

  /** The stage and the time lines in words. */
  #words() {
    const { app, dots, sketch: drawn } = this;
    const standing = this.#standing();
    const { live, playing } = app.clock;
    app.underWay = standing.length || !(live || playing) ? sumsOf(standing) : dots.traffic.sums();
    patch($("stage-words"), wordsSwitch(app, "stageWords", "words.stage"));
    patch($("scene-text"), stageWords(app));
    patch($("lanes-text"), lanesWords(app));
    for (const [id, shown] of [["scene-text", app.stageWords], ["lanes-text", app.lanesWords]]) {
      const box = $(id);
      box.classList.toggle("unseen", !shown);
      if (shown) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
    if (!drawn) return;
    const { lanes, arrows, marks, bands, from, to } = drawn;
    const folded = (some) => some.reduce((sum, { n }) => sum + n, 0);
    const messages = arrows.length + folded(bands);
    const text = app.words.t(messages || marks.length ? "lanes.text" : "lanes.empty", {
      n: lanes.length, from: seconds(from), to: seconds(to), arrows: messages, marks: marks.length
    });
    const ahead = [...arrows, ...marks].filter((one) => one.ahead).length + folded(bands.filter((one) => one.ahead));
    patch($("lanes-summary"), [text, ahead > 0 && ` ${app.words.t("lanes.ahead", { n: ahead })}`, ` ${app.words.t("lanes.keys")}`]);
  }

  /** The time lines as a slider: where it stands, in words. */
  #cursor(wall) {
    this.drawn.cursor = wall;
    const { clock } = this.app;
    const canvas = $("lanes-canvas");
    const [from, to] = this.range();
    const facts = { valuemin: from, valuemax: Math.max(from, to), valuenow: Math.min(Math.max(from, clock.viewedTime), Math.max(from, to)) };
    for (const [name, t] of Object.entries(facts)) canvas.setAttribute(`aria-${name}`, seconds(t));
    canvas.setAttribute("aria-valuetext", cursorText(this.app));
  }

  #lanesControls() {
    const { app } = this;
    const { words } = app;
    return [
      wordsSwitch(app, "lanesWords", "words.lanes"),
      segments("axis", words.t("lanes.axis"), [["order", words.t("lanes.order")], ["time", words.t("lanes.time")]], app.axis, (axis) => app.set({ axis })),
      h("div", { key: "span", class: app.axis === "time" ? null : "reserved" },
        segments("span", words.t("lanes.span"), SPANS.map((t) => [1_000_000 * t, words.t("time.now", { t })]), app.span, (span) => app.set({ span }))),
    ];
  }

  /** Everything anew: another theme or language. */
  redraw() {
    this.palette.read();
    this.dots.clean = false;
    this.app.dirty = true;
    Object.assign(this.drawn, { stage: 0, table: 0, slow: 0, facts: 0 }); // at once, whatever would have waited
  }
}
