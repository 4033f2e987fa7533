/** Keyed patching, on a page that is just large enough for it. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { h, patch } from "../../static/views/patch.js";
import { Inscriptions } from "../../static/draw/inscriptions.js";

let made = 0;

class Place {
  constructor(tag, data) {
    Object.assign(this, { tag, data, nodeType: tag ? 1 : 3, namespaceURI: "html", list: [], attributes: {}, parent: null });
    made += 1;
  }

  get firstChild() {
    return this.list[0] ?? null;
  }

  get nextSibling() {
    return this.parent.list[this.parent.list.indexOf(this) + 1] ?? null;
  }

  removeChild(node) {
    this.list.splice(this.list.indexOf(node), 1);
  }

  insertBefore(node, before) {
    if (node.parent?.list.includes(node)) node.parent.removeChild(node);
    this.list.splice(before ? this.list.indexOf(before) : this.list.length, 0, node);
    node.parent = this;
  }

  replaceChildren() {
    this.list = [];
  }

  setAttribute(name, value) {
    this.attributes[name] = String(value);
  }

  removeAttribute(name) {
    delete this.attributes[name];
  }

  get text() {
    return this.nodeType === 3 ? this.data : this.list.map((one) => one.text).join("");
  }
}

globalThis.document = { createElement: (tag) => new Place(tag), createElementNS: (_, tag) => new Place(tag), createTextNode: (data) => new Place(null, data) };

const cells = (...offsets) => h("g", { key: "cells", rolling: true }, offsets.map((offset) => h("rect", { key: `c${offset}`, x: offset }, offset)));

test("a strip that rolls by one keeps its elements; one whose cells are all others changes them in place", () => {
  const root = new Place("svg");
  patch(root, [cells(1, 2, 3)]);
  const [one, two, three] = root.firstChild.list;
  patch(root, [cells(2, 3, 4)]);
  assert.deepEqual(root.firstChild.list.slice(0, 2), [two, three]);
  assert.ok(!root.firstChild.list.includes(one));
  const before = [...root.firstChild.list];
  made = 0;
  patch(root, [cells(50, 51, 52)]);
  assert.equal(made, 0);
  assert.deepEqual(root.firstChild.list, before);
  assert.deepEqual(before.map(({ text, attributes }) => [text, attributes]), [50, 51, 52].map((x) => [String(x), { x: String(x) }]));
  patch(root, [cells(51)]);
  assert.deepEqual(root.firstChild.list, [before[1]]);
});

test("elsewhere an element whose key is gone is gone: the focus that it had is nobody else's", () => {
  const root = new Place("div");
  patch(root, [h("button", { key: "a" }, "a")]);
  const [before] = root.list;
  patch(root, [h("button", { key: "b" }, "b")]);
  assert.notEqual(root.list[0], before);
});

test("a handler is that of the newest description, and is set but once", () => {
  const heard = [];
  const root = new Place("div");
  const button = (n) => h("button", { key: "b", onclick: () => heard.push(n) });
  patch(root, [button(1)]);
  const { onclick } = root.list[0];
  patch(root, [button(2)]);
  assert.equal(root.list[0].onclick, onclick);
  root.list[0].onclick({ type: "click" });
  assert.deepEqual(heard, [2]);
  patch(root, [h("button", { key: "b" })]);
  assert.equal(root.list[0].onclick, null);
});

test("what a select has chosen is set behind its options", () => {
  const root = new Place("div");
  const order = [];
  const chosen = { set(value) { order.push([value, this.list.length]); } };
  globalThis.document.createElement = (tag) => (tag === "select" ? Object.defineProperty(new Place(tag), "value", chosen) : new Place(tag));
  patch(root, [h("select", { value: "b" }, ["a", "b"].map((value) => h("option", { key: value, value })))]);
  globalThis.document.createElement = (tag) => new Place(tag);
  assert.deepEqual(order, [["b", 2]]);
});

test("a label is written once, and put between no two pixels", () => {
  const written = [];
  const put = [];
  const pen = { measureText: (text) => ({ width: 6 * text.length }), setTransform() {}, strokeText() {}, fillText: (text) => written.push(text) };
  const inscriptions = new Inscriptions(() => ({ getContext: () => pen }));
  const context = { drawImage: (image, x, y) => put.push([x, y]) };
  const look = { font: "11.5px x", size: 11.5, ink: "black", ground: "white", ratio: 2 };
  for (const left of [10.1, 10.3, 11]) inscriptions.put(context, "Fetch", left, 40, look);
  inscriptions.put(context, "Fetch", 11, 40, { ...look, ink: "red" });
  assert.deepEqual(written, ["Fetch", "Fetch"]);
  assert.ok(put.every(([x, y]) => Number.isInteger(2 * x) && Number.isInteger(2 * y)));
});

const buttons = (root) => root.firstChild.list.filter(({ tag }) => tag === "button");
const row = (...children) => h("p", {}, ...children);
const button = (text, props = {}) => h("button", { type: "button", ...props }, text);

test("a button that nothing names stays what it is when something before it comes or goes", () => {
  const all = { text: "2 of 3 ", resume: button("Resume"), note: h("b", { key: "note" }, "!"), list: [button("a"), button("b")] };
  const shown = (which) => row(which.includes("text") && all.text, which.includes("note") && h("b", { key: "note" }, "!"),
    which.includes("resume") && button("Resume"), which.includes("list") && [which.includes("a") && button("a"), button("b")], button("Kill"), [button("last")]);
  const root = new Place("div");
  patch(root, [shown("")]);
  const [kill, last] = buttons(root);
  for (const which of ["resume", "text", "text resume", "list a", "list", "note", "note text list a resume", "list", ""]) {
    patch(root, [shown(which)]);
    const now = buttons(root);
    assert.deepEqual(now.slice(-2), [kill, last], which);
    assert.equal(root.firstChild.text.endsWith("Killlast"), true, which);
  }
});

test("what stands in lists without keys, and behind them, is found again, too", () => {
  const root = new Place("div");
  patch(root, [[null, [button("a"), button("b")]], button("c")]);
  const before = [...root.list];
  patch(root, [[button("0"), [button("a"), button("b")]], button("c")]);
  assert.deepEqual(root.list.slice(1), before);
  patch(root, [[null, [button("a"), button("b")]], false, button("c")]);
  assert.deepEqual(root.list.slice(0, 2), before.slice(0, 2));
});

test("of two buttons in one place each is its own; one that only says more of itself goes on", () => {
  const root = new Place("div");
  patch(root, [row(button("Kill", { "data-kill": "1", class: "on" }))]);
  const [kill] = buttons(root);
  patch(root, [row(button("Killed", { "data-kill": "2", "aria-pressed": "true" }))]);
  assert.deepEqual(buttons(root), [kill]);
  patch(root, [row(button("Restart", { "data-restart": "1" }))]);
  assert.notEqual(buttons(root)[0], kill);
  assert.equal(buttons(root).length, 1);
});

test("what the views make for each of a list has a key", () => {
  const each = /\.map\(\(?[^=()]*(?:\([^()]*\))?[^=()]*\)?\s*=>\s*h\("\w+",\s*(\{[^}]*\}|[^,]*,)/g;
  const views = new URL("../../static/views/", import.meta.url);
  let found = 0;
  for (const name of readdirSync(views, { recursive: true })) {
    if (!name.endsWith(".js")) continue;
    for (const [text, props] of readFileSync(new URL(name, views), "utf8").matchAll(each)) {
      found += 1;
      assert.match(props, /\bkey\b/, `${name}: ${text}`);
    }
  }
  assert.ok(found > 50, `${found}`);
});
