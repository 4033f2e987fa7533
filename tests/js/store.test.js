/** What is chosen on the page: every field is declared, and what is remembered comes back. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { beginning, FIELDS, keep, PARTS } from "../../static/store.js";

const sources = readdirSync(join(import.meta.dirname, "../../static"), { recursive: true }).filter((name) => name.endsWith(".js"));

function storage(text) {
  const kept = new Map(text === undefined ? [] : [["lab", text]]);
  return { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name), kept };
}

/** Names of the fields that an object literal at `from` sets: those at its own depth, not of objects in it. */
function names(source, from) {
  let depth = 0;
  let own = "";
  for (let at = from; at < source.length; at += 1) {
    if ("{[(".includes(source[at])) depth += 1;
    else if ("}])".includes(source[at])) depth -= 1;
    else if (depth === 1) own += source[at];
    if (depth === 0) break;
  }
  return own.split(",").map((part) => /^\s*([a-zA-Z]+)\s*(?::|$)/.exec(part)?.[1]).filter(Boolean);
}

test("whatever is set on the page is declared in the store", () => {
  const unknown = [];
  for (const name of sources) {
    const source = readFileSync(join(import.meta.dirname, "../../static", name), "utf8");
    for (const { index, 0: found } of source.matchAll(/\b(?:app|view)\.set\(\{/g)) {
      for (const field of names(source, index + found.length - 1)) if (!(field in FIELDS)) unknown.push(`${name}: ${field}`);
    }
  }
  assert.deepEqual(unknown, []);
});

test("whatever stands on the page's object is declared there", () => {
  const unknown = [];
  for (const name of sources) {
    const source = readFileSync(join(import.meta.dirname, "../../static", name), "utf8");
    for (const [, field] of source.matchAll(/\b(?:app|view)\.([a-zA-Z]+) (?:[-+|&?]*)= /g)) if (!(field in PARTS) && !(field in FIELDS)) unknown.push(`${name}: ${field}`);
  }
  assert.deepEqual(unknown, []);
  assert.deepEqual(Object.keys(PARTS).filter((field) => field in FIELDS), []);
});

test("what outlives the page comes back, the rest begins anew", () => {
  const browser = storage();
  const fields = { ...FIELDS, mode: "explore", selected: 7 };
  keep(fields, ["selected"], browser);
  assert.equal(browser.kept.size, 0);
  keep(fields, ["mode"], browser);
  assert.deepEqual({ mode: beginning(browser).mode, selected: beginning(browser).selected }, { mode: "explore", selected: null });
});

test("what cannot be read is forgotten", () => {
  const browser = storage("{");
  assert.equal(beginning(browser).mode, "learn");
  assert.equal(browser.kept.size, 0);
});
