import assert from "node:assert/strict";
import test from "node:test";
import { matching, next, progressOf } from "../../static/model/course.js";
import { Results } from "../../static/desk/results.js";

const lesson = (name, subject, minutes = 5) => ({ name, subject, minutes, level: 1, title: { en: `The ${name}`, ko: `${name} 이야기` }, text: { en: "About acks and leaders.", ko: "리더와 acks." } });
const WAY = [lesson("a", "x"), lesson("b", "x"), lesson("c", "y"), lesson("d", "y")];
const storage = (kept = null) => ({ kept, getItem() { return this.kept; }, setItem(_, text) { this.kept = text; }, removeItem() { this.kept = null; } });

test("the next lesson is in the same track, then behind it, then the first that is open", () => {
  assert.equal(next(WAY, {}).name, "a");
  assert.equal(next(WAY, { a: "right" }, "a").name, "b");
  assert.equal(next(WAY, { b: "right" }, "b").name, "c");
  assert.equal(next(WAY, { c: "right" }, "c").name, "d");
  assert.equal(next(WAY, { d: "right" }, "d").name, "a");
  assert.equal(next(WAY, { a: "right", b: "wrong", c: "seen", d: "near" }, "d"), null);
});

test("a scenario off the way is never next", () => {
  assert.equal(next([lesson("own", "", null)], {}), null);
});

test("progress counts what is done and the minutes that are left", () => {
  assert.deepEqual(progressOf(WAY, { a: "right", z: "right" }), { done: 1, of: 4, minutes: 15 });
});

test("a search finds every word in title, name or text, in either language", () => {
  const way = [lesson("acks-1", "x"), lesson("purgatory", "y")];
  assert.deepEqual(matching(way, " the PURG ", "ko").map(({ name }) => name), ["purgatory"]);
  assert.deepEqual(matching(way, "리더 acks-1", "ko").map(({ name }) => name), ["acks-1"]);
  assert.equal(matching(WAY, "leaders nothing", "en").length, 0);
  assert.equal(matching(WAY, "  ", "en").length, 4);
});

test("results outlive the page, the best one stays", () => {
  const browser = storage();
  const first = new Results(browser);
  first.take("a", "wrong");
  first.take("a", "right");
  first.take("a");
  first.take("b");
  assert.deepEqual(new Results(browser).all, { a: "right", b: "seen" });
  first.forget();
  assert.deepEqual(new Results(browser).all, {});
});

test("a student's results are the server's, and this browser keeps none of them", async () => {
  const browser = storage('{"a": "right"}');
  const asked = [];
  const kept = { b: "near" };
  const server = async (path, body, method = body ? "POST" : "GET") => {
    asked.push(`${method} ${path}`);
    if (method === "POST") kept[body.name] = body.grade;
    return method === "DELETE" ? null : { results: { ...kept } };
  };
  const results = new Results(browser, server);
  await results.load();
  assert.deepEqual(results.all, { b: "near" });
  await results.take("b", "wrong");
  await results.take("c", "right");
  assert.deepEqual(results.all, { b: "near", c: "right" });
  await results.forget();
  assert.deepEqual([results.all, asked, browser.kept], [{}, ["GET /me/lessons", "POST /me/lessons", "DELETE /me/lessons"], '{"a": "right"}']);
});

test("what is no result in the browser's memory is left out", () => {
  assert.deepEqual(new Results(storage('{"a": "great", "b": "near"}')).all, { b: "near" });
  const broken = storage("{");
  assert.deepEqual(new Results(broken).all, {});
  assert.equal(broken.kept, null);
});
