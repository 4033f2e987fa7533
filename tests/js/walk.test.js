/** Walking through the stage with the keys: places in reading order, records of a replica, ways in and out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { placesOf, walk } from "../../static/model/walk.js";

const topic = { partitions: { 10: { replicas: [1, 2] }, 2: { replicas: [2] } } };
const scene = { left: [{ kind: "producer", name: "p" }, { kind: "you", name: "operator" }], right: [{ kind: "group", name: "g" }], brokers: [{ id: "1" }, { id: "2" }] };
const places = placesOf(scene, topic, ["controller-101"]);
const logOf = ({ name }) => (name === "1" ? { start: 3, leo: 6 } : { start: 0, leo: 0 });
const keys = (from, ...pressed) => pressed.reduce((spot, key) => walk(places, spot, key, logOf) ?? spot, from);
const row = { kind: "replica", name: "1", number: "10" };

test("places stand in reading order, replicas under the broker that has them, partitions by number", () => {
  const names = places.map(({ kind, name, number }) => (number ? `${name}/${number}` : `${kind} ${name}`));
  assert.deepEqual(names, ["producer p", "you operator", "broker 1", "1/10", "broker 2", "2/2", "2/10", "group g", "server controller-101"]);
});

test("who enters stands at the first broker, and goes up and down from there to both ends", () => {
  assert.deepEqual(keys(null, ""), { kind: "broker", name: "1", offset: null });
  assert.equal(keys(null, "", "ArrowDown", "ArrowDown").name, "2");
  assert.equal(keys(null, "", "End", "ArrowDown").name, "controller-101");
  assert.equal(keys(null, "", "Home", "ArrowUp").name, "p");
});

test("left goes into the records at the newest one, right out of them behind it", () => {
  assert.equal(keys(row, "ArrowLeft").offset, 5);
  assert.equal(keys(row, "ArrowLeft", "ArrowLeft").offset, 4);
  assert.equal(keys(row, "ArrowLeft", "Home").offset, 3);
  assert.equal(keys(row, "ArrowLeft", "Home", "ArrowLeft").offset, 3);
  assert.equal(keys(row, "ArrowLeft", "ArrowRight").offset, null);
  assert.deepEqual(keys(row, "ArrowLeft", "ArrowDown"), { kind: "broker", name: "2", offset: null });
});

test("a log without records has none to walk through, and a place that is gone leads back to a broker", () => {
  assert.equal(walk(places, { kind: "replica", name: "2", number: "2" }, "ArrowLeft", logOf), null);
  assert.deepEqual(walk(places, { kind: "broker", name: "9" }, "ArrowDown", logOf), { kind: "broker", name: "1", offset: null });
  assert.equal(walk([], null, "ArrowDown", logOf), null);
});
