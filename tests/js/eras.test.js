import assert from "node:assert/strict";
import { test } from "node:test";
import { Eras } from "../../static/desk/eras.js";
import { called } from "../../static/views/then.js";

test("what was otherwise in an era is asked for once, by name, by whose it is and by what two eras have", async () => {
  let asked = 0;
  const rows = [
    { of: "producer", name: "acks", values: { "2.x": "1", 3.9: "all", 4.3: "all" } },
    { of: "broker", name: "replica.lag.time.max.ms", values: { "2.x": "10000", 3.9: "30000", 4.3: "30000" } }];
  const drawn = new Promise((resolve) => {
    const eras = new Eras({ set: () => resolve(eras) }, async () => { asked += 1; return { items: rows }; });
    assert.deepEqual(eras.of("acks"), []);
    assert.deepEqual(eras.between("2.x", "4.3"), []);
  });
  const eras = await drawn;
  assert.deepEqual([eras.of("acks"), eras.of("acks", ["broker"]), eras.of("")], [[rows[0]], [], []]);
  assert.deepEqual([eras.between("2.x", "4.3"), eras.between("3.9", "4.3")], [rows, []]);
  assert.equal(asked, 1);
});

test("a server that was away is asked for eras again by who looks next", async () => {
  const answers = [async () => { throw new Error("away"); }, async () => ({ items: [] })];
  const eras = new Eras({ set: () => {} }, () => answers.shift()());
  eras.of("acks");
  await new Promise((resolve) => { setTimeout(resolve); });
  eras.of("acks");
  assert.equal(answers.length, 0);
});

test("a difference is a setting and whose it is, and that of controllers a place in words", () => {
  const words = { t: (key) => key };
  assert.equal(called({ of: "producer", name: "acks" }, words), "acks (era.of.producer)");
  assert.equal(called({ of: "controller", name: "controller" }, words), "era.controller");
});
