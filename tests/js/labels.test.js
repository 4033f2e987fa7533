import assert from "node:assert/strict";
import { test } from "node:test";
import { arrange, blocksOf, place } from "../../static/draw/labels.js";
import { along, boxOf, layout, way } from "../../static/draw/layout.js";
import { signPlaces } from "../../static/draw/signs.js";
import { EMPTY } from "../../static/model/reduce.js";
import { brokerOf } from "../../static/model/names.js";

const brokers = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [index + 1, { id: index + 1, node: `broker-${index + 1}`, state: "running", registered: true }]));
const clients = { "producer-a": { kind: "producer", state: "running" }, "consumer-a": { kind: "consumer", state: "running" } };
const STAGES = [[520, 400], [540, 420], [790, 410], [1100, 600]];
const measure = (text) => text.length * 6.3; // as wide as the page's 11.5 px, nearly

/** Labels of all ways of a busy cluster: three messages each, `share` further on their way. */
function busy(scene, state, share) {
  const nodes = Object.keys(state.brokers).map((id) => `broker-${id}`);
  const sent = [];
  for (const leader of nodes) {
    for (const other of nodes) if (other !== leader) sent.push([other, leader, false, "Fetch"], [leader, other, true, "FENCED_LEADER_EPOCH"]);
    sent.push(["producer-a", leader, false, "Produce"], [leader, "producer-a", true, "Produce"], ["consumer-a", leader, false, "Fetch"], [leader, "consumer-a", true, "Fetch"]);
  }
  return sent.flatMap(([from, to, answer, label], index) => {
    const curve = way(scene, boxOf(scene, from, state), boxOf(scene, to, state), answer);
    return [0, 0.25, 0.5].map((more) => {
      const at = along(curve, share + more);
      return { places: [at], texts: [`${label} ×${2 + (index % 5)}`, label], side: brokerOf(from) ? Math.sign(at.x - scene.width / 2) : 0, rank: label === "FENCED_LEADER_EPOCH" ? 4 : 1, way: `${from}>${to}:${answer}` };
    });
  });
}

const apart = (one, other, gap) => one.right + gap <= other.left || other.right + gap <= one.left || one.bottom + gap <= other.top || other.bottom + gap <= one.top;

function* loads() {
  for (const count of [1, 3, 5]) {
    for (const [width, height] of STAGES) {
      const state = { ...EMPTY, brokers: brokers(count), clients };
      const scene = layout(state, width, height);
      for (const share of [0.05, 0.15, 0.25, 0.35, 0.45]) yield { count, width, height, scene, labels: arrange(busy(scene, state, share), scene, measure) };
    }
  }
}

test("no label touches a card, its rim, another label or the edge of the stage, and each stands at its message", () => {
  for (const { count, width, height, scene, labels } of loads()) {
    const shown = labels.filter((label) => label.place);
    for (const [index, { place: box, places: [at], text }] of shown.entries()) {
      const where = `${count} brokers, ${width}x${height}: ${text} ${JSON.stringify(box)}`;
      for (const block of blocksOf(scene)) assert.ok(apart(box, block, 3.9), `${where} at ${JSON.stringify(block)}`);
      for (const other of shown.slice(index + 1)) assert.ok(apart(box, other.place, 3.9), `${where} at ${other.text}`);
      assert.ok(box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height, where);
      assert.ok(apart(box, { left: at.x, right: at.x, top: at.y, bottom: at.y }, 0) && !apart(box, { left: at.x, right: at.x, top: at.y, bottom: at.y }, 24), where);
    }
  }
});

test("where there is room labels are shown: on a wide stage a quarter of all ways under full load", () => {
  for (const { count, width, labels } of loads()) {
    const ways = new Set(labels.map((label) => label.way)).size;
    if (count === 3 && width > 700) assert.ok(labels.filter((label) => label.place).length >= ways / 4, `${labels.filter((label) => label.place).length} of ${ways}`);
  }
});

const STAGE = { width: 400, height: 200, left: [], right: [], brokers: [{ x: 200, y: 0, w: 150, h: 150 }], tree: { x: 200, y: 170, w: 150, h: 30 } };
const one = (at, text, more) => ({ places: [at], texts: [text], side: 0, rank: 1, way: "a>b", ...more });

test("a label slides off a card, takes its shorter text, or is left out", () => {
  const between = { ...STAGE, left: [{ x: 20, y: 0, w: 100, h: 190 }] }; // 66 pixels between the rims
  const shown = (at, ...texts) => arrange([one(at, "", { texts })], between, measure)[0];
  const slid = shown({ x: 190, y: 80 }, "Produce");
  assert.equal(slid.place.right, 196);
  assert.deepEqual([shown({ x: 160, y: 80 }, "Produce ×12", "Produce").text, shown({ x: 160, y: 80 }, "FENCED_LEADER_EPOCH").place], ["Produce", null]);
});

test("of two labels in one place the louder is shown there, and of like ones on one way the first", () => {
  const at = { x: 100, y: 80 };
  const found = arrange([one(at, "Fetch ×2", { way: "x>y" }), one(at, "NOT_LEADER", { rank: 5 }), one({ x: 20, y: 20 }, "NOT_LEADER", { rank: 5 })], STAGE, measure);
  assert.deepEqual(found.map(({ text }) => text), ["NOT_LEADER", null, "Fetch ×2"]);
  assert.notEqual(found[0].place.line, found[2].place.line);
});

test("a label keeps off a way that is cut: its stroke would go through the letters", () => {
  const state = { ...EMPTY, brokers: brokers(3), clients, links: [2, 3].map((id) => ({ from: "broker-1", to: `broker-${id}`, partitioned: true })) };
  for (const width of [1000, 1200, 1370]) {
    const scene = layout(state, width, 330);
    const signs = signPlaces(scene, state);
    const refused = way(scene, boxOf(scene, "broker-1", state), boxOf(scene, "producer-a", state), true);
    for (let share = 0.1; share < 0.95; share += 0.05) {
      const at = along(refused, share);
      const [{ place: box }] = arrange([one(at, "NOT_ENOUGH_REPLICAS")], { ...scene, signs }, measure);
      for (const { line } of signs) for (let on = 0; box && on <= 1; on += 0.01) {
        const { x, y } = along(line, on);
        assert.ok(apart(box, { left: x, right: x, top: y, bottom: y }, 1), `${width}, ${share}: ${JSON.stringify(box)} at ${x} ${y}`);
      }
    }
  }
});

test("a label keeps its line beside the message while there is room", () => {
  const stage = { width: 400, height: 200 };
  const first = place({ at: { x: 100, y: 80 }, wide: 40 }, [], stage);
  const under = place({ at: { x: 100, y: 80 }, wide: 40, before: 1 }, [], stage);
  assert.deepEqual([first.line, under.line, under.base > 80], [0, 1, true]);
});

test("a label covers no dot of a loud message, its own or another's", () => {
  const at = { x: 100, y: 80 };
  const near = [{ x: 110, y: 66 }, { x: 92, y: 66 }];
  const [free, moved] = [[], near].map((dots) => arrange([one(at, "Fetch")], STAGE, measure, [at, ...dots])[0].place);
  assert.ok(free.bottom < at.y && moved.top > at.y);
});
