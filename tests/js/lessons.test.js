/** A lesson's run on the page: how far its job has come is asked for again and again, and is no new picture of the cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Desk } from "../../static/desk/desk.js";
import { Lessons } from "../../static/desk/lessons.js";
import { ofSetting } from "../../static/model/setting.js";

/** An app that keeps what it was asked to draw anew: "all", or "moved" for drawer and dialogs alone. */
function listening() {
  const drawn = [];
  const words = { t: (key) => key, words: {} };
  return { drawn, words, notice() {}, set() { drawn.push("all"); }, set moved(moved) { drawn.push(moved && "moved"); } };
}

test("a job that comes on moves the drawer, and nothing else", async () => {
  const app = listening();
  const states = [["running", 0], ["running", 0.4], ["running", 0.9], ["failed", 0.9]];
  const asked = [];
  globalThis.fetch = async (address) => {
    asked.push(address);
    const [state, progress] = states.shift();
    return { ok: true, text: async () => JSON.stringify({ id: "j", state, progress }) };
  };
  const lessons = new Lessons(app, {});
  lessons.one = { name: "acks-1", document: {}, generation: "zookeeper" };
  await lessons.run();
  assert.deepEqual(asked, ["/api/scenarios/acks-1/run", ...Array(3).fill("/api/jobs/j")]);
  assert.deepEqual(app.drawn, ["all", "moved", "moved", "moved", "all"]); // it is begun, comes on, has failed
  assert.deepEqual([lessons.job, lessons.error], [null, "job.failed"]);
});

test("a run that is being opened moves what shows its share", async () => {
  const app = listening();
  const ask = async (question, progress) => {
    for (const share of [0.2, 0.7]) progress(share);
    return { ok: true, run: "0002-1" };
  };
  const desk = { app, ask, work: null };
  const answer = await Desk.prototype.busy.call(desk, "runs.opening", { run: "0002" }, { what: "open", name: "0002" });
  assert.deepEqual([answer.run, desk.work, app.drawn], ["0002-1", null, ["all", "moved", "moved", "all"]]);
});

test("a setting tells and asks what it has of its own, and else what the lesson does", () => {
  const variants = { other: { predict: { ask: { en: "B?" } } }, quiet: { predict: null }, told: { text: { en: "two" } }, same: { title: {} } };
  const one = { text: { en: "one", ko: "하나" }, document: { predict: { ask: { en: "A?" }, choices: [1, 2] }, variants } };
  const lesson = { text: one.text, predict: one.document.predict };
  for (const setting of ["", "same", "nobody"]) assert.deepEqual(ofSetting(one, setting), lesson);
  assert.deepEqual(ofSetting(one, "other").predict, { ask: { en: "B?" }, choices: [1, 2] });
  assert.deepEqual(ofSetting(one, "quiet").predict, null);
  assert.deepEqual(ofSetting(one, "told").text, { en: "two", ko: "하나" });
});

test("a setting that asks nothing can be run at once, one that asks waits for an answer", () => {
  const lessons = new Lessons(listening(), {});
  lessons.one = { name: "x", document: { predict: { ask: {} }, variants: { quiet: { predict: null } } }, generation: "kraft" };
  lessons.choose("quiet");
  assert.equal(lessons.ready, true);
  lessons.choose("");
  assert.equal(lessons.ready, false);
});
