import assert from "node:assert/strict";
import { test } from "node:test";
import { along, boxOf, layout, way } from "../../static/draw/layout.js";
import { sketch, ticksOf } from "../../static/draw/sketch.js";
import { Traffic, crowdLabel, flightOf } from "../../static/draw/traffic.js";
import { marksOf, speedText } from "../../static/views/timebar.js";
import { side } from "../../static/views/sides.js";
import { shownPartitions } from "../../static/views/stage.js";
import { arrange } from "../../static/draw/labels.js";
import { APART, linkPlaces } from "../../static/draw/links.js";
import { linkSign, signPlaces, troubled } from "../../static/draw/signs.js";
import { passing } from "../../static/model/flights.js";
import { EMPTY } from "../../static/model/reduce.js";
import { History } from "../../static/time/history.js";

const brokers = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [index + 1, { id: index + 1, node: `broker-${index + 1}`, state: "running", registered: true }]));
const state = { ...EMPTY, brokers: brokers(3), clients: { "producer-a": { kind: "producer", state: "running" }, "consumer-a": { kind: "consumer", state: "running" } } };

test("no box leaves the stage and no broker covers another, at every size and number", () => {
  for (const count of [1, 3, 4, 5, 9]) {
    for (const [width, height] of [[520, 430], [820, 420], [1100, 600]]) {
      const scene = layout({ ...state, brokers: brokers(count) }, width, height);
      for (const box of [...scene.brokers, ...scene.left, ...scene.right, scene.tree]) {
        assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.w <= width + 1 && box.y + box.h <= height + 1, `${count} ${width} ${JSON.stringify(box)}`);
      }
      for (const a of scene.brokers) for (const b of scene.brokers) {
        if (a !== b) assert.ok(a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y);
      }
    }
  }
});

test("clients at the sides cover no other, and what has no room stands in one box with the rest", () => {
  for (const count of [1, 4, 5, 6, 9, 14, 40]) {
    const names = Array.from({ length: count }, (_, index) => `producer-${index}`);
    const clients = Object.fromEntries(names.flatMap((name) => [[name, { kind: "producer", state: "running" }], [`consumer-${name}`, { kind: "consumer", state: "running" }]]));
    for (const [width, height] of [[520, 330], [820, 390], [1100, 600]]) {
      const scene = layout({ ...state, clients }, width, height);
      for (const side of [scene.left, scene.right]) {
        for (const [index, box] of side.entries()) {
          assert.ok(box.h >= 34 && box.y >= 0 && box.y + box.h <= scene.tree.y, `${count} ${height} ${JSON.stringify(box)}`);
          if (index) assert.ok(side[index - 1].y + side[index - 1].h < box.y, `${count} ${height}: ${index}`);
        }
      }
      assert.equal(scene.left.at(-1).kind, "you");
      assert.deepEqual(scene.left.slice(0, -1).flatMap((box) => box.rest ?? [box]).map(({ name }) => name), names);
      for (const name of names) assert.ok(boxOf(scene, name, { ...state, clients }));
    }
  }
});

test("requests and answers between brokers take different ways that begin and end at their boxes", () => {
  const scene = layout(state, 820, 420);
  const [one, two] = [boxOf(scene, "broker-1", state), boxOf(scene, "broker-2", state)];
  const [there, back] = [way(scene, one, two, false), way(scene, two, one, true)];
  assert.equal(along(there, 0).x, one.x);
  assert.equal(along(back, 0).x, two.x + two.w);
  assert.deepEqual(along(there, 1), there[2]);
});

test("a request and its arrival become one arrow between two lanes", () => {
  const history = new History();
  const request = { api: "Fetch", version: 17, correlation: 4 };
  history.append([
    { seq: 1, t: 1000, code: "request_sent", node: "broker-2", cause: 0, params: { ...request, to: "broker-1" } },
    { seq: 2, t: 3000, code: "request_received", node: "broker-1", cause: 1, params: { ...request, source: "broker-2" } },
    { seq: 3, t: 4000, code: "process_ended", node: "broker-1", cause: 0, params: { how: "crash" } },
  ]);
  const found = sketch(history, state, { position: history.end, time: 10_000, span: 10_000, axis: "time", chosen: null });
  assert.deepEqual(found.arrows.map(({ a, b, x1, x2 }) => [found.lanes[a], found.lanes[b], x1, x2]), [["broker-2", "broker-1", 0.1, 0.3]]);
  assert.deepEqual(found.marks.map(({ kind, lane }) => [kind, found.lanes[lane]]), [["death", "broker-1"]]);
  assert.deepEqual(found.dead.map(({ lane, x1, x2 }) => [found.lanes[lane], x1, x2]), [["broker-1", 0.4, 1]]);
});

test("the order axis tells events of one instant apart", () => {
  const history = new History();
  history.append(Array.from({ length: 4 }, (_, n) => ({ seq: n + 1, t: 5, code: "process_paused", node: "broker-1", cause: 0, params: {} })));
  const { marks } = sketch(history, state, { position: 4, time: 5, span: 1, axis: "order", chosen: null });
  assert.equal(new Set(marks.map((mark) => mark.x)).size, 4);
});

test("a rewound view knows what comes: behind the cursor, in the last quarter, and no more than is known", () => {
  const history = new History();
  history.append(Array.from({ length: 40 }, (_, n) => ({ seq: n + 1, t: n * 1000, code: n === 25 ? "process_ended" : "process_paused", node: "broker-1", cause: 0, params: {} })));
  const look = (more) => sketch(history, state, { position: 21, time: 20_000, span: 20_000, axis: "time", chosen: null, ...more });
  const rewound = look({ rewound: true });
  assert.deepEqual([rewound.cursor, rewound.known, rewound.from, rewound.to], [0.75, 1, 5_000, 20_000]);
  const coming = rewound.marks.filter(({ ahead }) => ahead);
  assert.deepEqual(coming.map(({ position }) => position), [21, 22, 23, 24, 25]);
  assert.ok(coming.every(({ x }) => x > rewound.cursor && x <= 1));
  assert.equal(coming.at(-1).kind, "death");
  assert.ok(rewound.marks.filter(({ ahead }) => !ahead).every(({ x }) => x <= rewound.cursor));
  const live = look({});
  assert.deepEqual([live.cursor, live.known, live.marks.some(({ ahead }) => ahead)], [1, 1, false]);
  const near = look({ position: 39, time: 38_000, rewound: true });
  assert.deepEqual([near.known, near.cursor, near.marks.filter(({ ahead }) => ahead).length], [1, 0.95, 1]);
  const order = look({ axis: "order", rewound: true });
  assert.deepEqual([order.marks.filter(({ ahead }) => !ahead).length, order.marks.filter(({ ahead }) => ahead).length], [21, 16]);
  assert.ok(order.marks.every(({ x, ahead }) => (ahead ? x > order.cursor : x < order.cursor)));
});

test("in a busy window of time what is far from the moment is folded, and nothing is left out", () => {
  const history = new History();
  const event = (n) => (n === 100 ? { code: "process_ended", params: { how: "crash" } } : { code: "request_sent", params: { api: "Fetch", to: "broker-2", correlation: n } });
  history.append(Array.from({ length: 9000 }, (_, n) => ({ seq: n + 1, t: n * 10, node: "broker-1", cause: 0, ...event(n) })));
  const look = (span, more = {}) => sketch(history, state, { position: history.end, time: 90_000, span, axis: "time", chosen: null, ...more });
  const counted = ({ arrows, bands }) => arrows.length + bands.reduce((sum, { n }) => sum + n, 0);
  const busy = look(90_000);
  assert.deepEqual([counted(busy), busy.marks.map(({ kind }) => kind)], [8999, ["death"]]);
  assert.deepEqual(busy.bands.map(({ kinds }) => kinds[0][0]), ["Fetch", "Fetch"]);
  assert.ok(busy.bands[0].x2 < busy.marks[0].x && busy.bands[1].x1 > busy.marks[0].x && busy.bands.at(-1).x2 <= 2 / 3);
  assert.deepEqual(look(10_000).bands, []);
  const past = look(90_000, { position: 5000, time: 50_000, rewound: true }); // from -17.5 ms to 72.5 ms
  assert.deepEqual([counted(past), past.bands.at(-1).ahead], [7250, true]);
});

test("ticks are round and few", () => {
  assert.deepEqual(ticksOf(0, 10_000_000, 10_000_000).map((tick) => tick.text), ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]);
  assert.ok(ticksOf(3, 60_000_003, 60_000_000).length <= 9);
});

test("an error answer flies loudly, a good one quietly, an inner event not at all", () => {
  const answer = (error) => flightOf({ code: "response_sent", node: "broker-1", params: { to: "producer-a", api: "Produce", error } });
  assert.deepEqual([answer("NONE").quiet, answer("NOT_LEADER_OR_FOLLOWER").label], [true, "NOT_LEADER_OR_FOLLOWER"]);
  assert.equal(flightOf({ code: "high_watermark", node: "broker-1", params: {} }), null);
});

test("the scrubber shows the loudest thing of each stretch", () => {
  const item = (t, tone) => ({ loud: true, tone, first: { t }, positions: [1] });
  const marks = marksOf([item(0, "plain"), item(1, "bad"), item(1000, "turn")], 0, 1000, 80);
  assert.deepEqual(marks.map(({ x, tone, n }) => [x, tone, n]), [[0, "bad", 2], [72, "turn", 1]]);
});

test("the chosen partition is among those that a card shows", () => {
  const topic = { partitions: Object.fromEntries(Array.from({ length: 50 }, (_, n) => [n, {}])) };
  assert.deepEqual(shownPartitions(topic, 3, "0"), ["0", "1", "2"]);
  assert.ok(shownPartitions(topic, 3, "49").includes("49"));
});

test("speeds are written as fractions", () => {
  assert.deepEqual([speedText(1), speedText(0.01)], ["1×", "1/100×"]);
});

const sent = (seq, api, to = "broker-1") => ({ seq, t: seq, code: "request_sent", node: "broker-2", cause: 0, params: { api, version: 1, correlation: seq, to } });
const counted = (traffic) => traffic.sums().reduce((sum, { count }) => sum + count, 0);

test("above the limit messages are counted by way and none is left out; below it each is drawn again", () => {
  const traffic = new Traffic(700, 10);
  traffic.add(Array.from({ length: 10 }, (_, n) => sent(n, `Kind${n}`)), 0);
  assert.deepEqual([traffic.flights.length, traffic.crowds.size], [10, 0]);
  traffic.add(Array.from({ length: 90 }, (_, n) => sent(10 + n, `Kind${10 + n}`, `broker-${n % 2 ? 1 : 3}`)), 200);
  assert.deepEqual([traffic.flights.length, traffic.crowds.size, counted(traffic)], [0, 2, 100]);
  traffic.add([sent(200, "Fetch")], 740); // the first ten have arrived, most are still under way
  assert.deepEqual([traffic.flights.length, counted(traffic)], [0, 91]);
  traffic.add([sent(201, "Fetch")], 1200);
  assert.deepEqual([traffic.flights.length, counted(traffic)], [1, 2]);
  traffic.expire(2000);
  assert.ok(!traffic.busy);
});

test("failed answers are a crowd of their own, connections from outside one end", () => {
  const traffic = new Traffic(700, 0);
  const answer = (to, error) => ({ seq: 1, t: 1, code: "response_sent", node: "broker-1", cause: 0, params: { to, api: "Produce", error } });
  traffic.add([answer(17, "NONE"), answer(18, "NONE"), answer(18, "NOT_LEADER_OR_FOLLOWER")], 0);
  assert.deepEqual(traffic.sums().map(({ to, failed, label, count }) => [to, Boolean(failed), label, count]), [["outside", false, "Produce", 2], ["outside", true, "NOT_LEADER_OR_FOLLOWER", 1]]);
});

test("the label of a crowd names what most of it is and counts the rest", () => {
  const kinds = new Map([["Fetch", 7], ["Produce", 30], ["Metadata", 2]]);
  assert.equal(crowdLabel({ waves: [{ kinds }, { kinds: new Map([["Fetch", 1]]) }] }), "Produce ×30 · Fetch ×8 · +2");
});

test("a moment of the past has the requests that were sent before it and arrive behind it", () => {
  const history = new History();
  const received = (seq, t, correlation) => ({ seq, t, code: "request_received", node: "broker-1", cause: 1, params: { api: "Fetch", correlation, source: "broker-2" } });
  history.append([{ ...sent(1, "Fetch"), t: 100 }, { ...sent(2, "Lost"), t: 100 }, { seq: 3, t: 200, code: "isr_shrunk", node: "broker-1", cause: 0, params: {} }, received(4, 500, 1), { seq: 5, t: 600, code: "isr_shrunk", node: "broker-1", cause: 0, params: {} }]);
  assert.deepEqual(passing(history, 3).map(({ label, share }) => [label, share]), [["Fetch", 0.25]]);
  assert.deepEqual(passing(history, 2).map(({ label }) => label), ["Lost", "Fetch"]); // what the event of the moment sends, whether it arrives or not
  assert.deepEqual(passing(history, 5), []);
});

test("a moment of the past has the answers whose first effect stands behind it", () => {
  const history = new History();
  const event = (seq, t, code, node, cause, params = {}) => ({ seq, t, code, node, cause, params });
  const answer = { api: "Fetch", to: "broker-2", correlation: 7, error: "NONE" };
  history.append([
    event(1, 100, "response_sent", "broker-1", 0, answer), event(2, 200, "process_ended", "broker-1", 0, { how: "crash" }),
    event(3, 500, "log_appended", "broker-2", 1), event(4, 600, "isr_shrunk", "broker-2", 1), event(5, 700, "isr_shrunk", "broker-2", 4),
  ]);
  assert.deepEqual(passing(history, 2).map(({ from, to, answer, share }) => [from, to, answer, share]), [["broker-1", "broker-2", true, 0.25]]);
  assert.deepEqual(passing(history, 3), []); // it has arrived: what else it causes is no second arrival
});

test("what a member of a group sends leaves from its group's box", () => {
  const names = Array.from({ length: 12 }, (_, n) => `team-${n}`);
  const state = {
    brokers: { 1: { id: 1 } }, connections: {},
    clients: Object.fromEntries(names.map((name, n) => [`consumer-${n}`, { kind: "consumer", state: "running", settings: { "group.id": name } }])),
    groups: Object.fromEntries(names.map((name, n) => [name, { members: [{ id: `consumer-${n}-1`, client_id: `consumer-${n}`, assignment: {} }], offsets: {} }])),
  };
  const scene = layout(state, 900, 400);
  const boxes = names.map((_, n) => boxOf(scene, `consumer-${n}`, state));
  assert.equal(boxes[3].name, "team-3");
  assert.equal(boxes.at(-1).kind === "folded" || boxes.at(-1).name === names.at(-1), true);
  assert.equal(new Set(boxes).size, scene.right.length);
});

test("polling alone is calm traffic; a record, a failure or a crowd is not", () => {
  const request = (api, from = "broker-1") => ({ seq: 1, t: 1, code: "request_sent", node: from, params: { api, to: "broker-2" } });
  const calm = (...events) => {
    const traffic = new Traffic();
    traffic.add(events, 0);
    return traffic.calm;
  };
  assert.deepEqual([calm(), calm(request("Fetch"), request("Heartbeat")), calm(request("Fetch"), request("Produce"))], [true, true, false]);
  assert.equal(calm({ seq: 1, t: 1, code: "response_sent", node: "broker-2", params: { api: "Fetch", to: "broker-1", error: "NOT_LEADER_OR_FOLLOWER" } }), false);
});

test("nothing that travels between brokers, or to those who agree, is cut by the stage's edge", () => {
  for (const width of [370, 482, 662, 780, 1073]) staysInside(layout({ ...state, brokers: brokers(3), clients: {} }, width, 620));
});

function staysInside(scene) {
  const { width } = scene;
  const all = [...scene.brokers, scene.tree];
  for (const answer of [false, true]) for (const from of all) for (const to of all) {
    if (from === to) continue;
    const curve = way(scene, from, to, answer);
    for (let share = 0; share <= 1; share += 0.1) {
      const { x } = along(curve, share);
      assert.ok(x >= 6.9 && x <= width - 6.9, `${width}: ${from.id} ${to.id} ${answer} ${x}`);
    }
  }
}

test("on a phone no way to a client goes over a card, however many clients and groups there are", () => {
  const names = (kind, count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`${kind}-${index}`, { kind, state: "running" }]));
  for (const count of [1, 2, 3]) {
    const own = { ...state, brokers: brokers(3), clients: { ...names("producer", count), ...names("consumer", count) } };
    const scene = layout(own, 370, 620);
    assert.ok(scene.stacked);
    for (const client of [...scene.left, ...scene.right]) for (const broker of scene.brokers) for (const answer of [false, true]) {
      const ways = [way(scene, client, broker, answer), way(scene, broker, client, answer)];
      assert.ok(Math.abs(along(ways[0], 0).y - along(ways[1], 1).y) < 0.01);
      for (let share = 0.02; share < 1; share += 0.02) {
        const { x, y } = along(ways[0], share);
        assert.ok(x >= 0 && x <= 370, `${client.name} ${broker.id}: ${x}`);
        for (const other of [...scene.left, ...scene.right, ...scene.brokers]) {
          const inside = x > other.x + 1 && x < other.x + other.w - 1 && y > other.y + 1 && y < other.y + other.h - 1;
          assert.ok(!inside, `${client.name} ${broker.id} ${answer}: ${x} ${y} is on ${other.id ?? other.name}`);
        }
      }
    }
  }
});

test("a link says in signs what it does, and both of its directions are one line", () => {
  assert.deepEqual([{ delay_us: 1000 }, { delay_us: 100_000, drop: 0.3 }, { duplicate: 0.3 }, { reorder: 1 }, { bandwidth: 20_000 }, { partitioned: true, drop: 1 }].map(linkSign),
    ["", "100 ms · ✕ 30 %", "×2 30 %", "⇄ 100 %", "20 kB/s", "✕"]);
  const scene = layout(state, 1100, 600);
  const link = (from, to, more) => ({ from, to, delay_us: 0, drop: 0, partitioned: false, ...more });
  const links = [link("broker-1", "broker-2", { delay_us: 50_000 }), link("broker-2", "broker-1", { delay_us: 50_000 }), link("producer-a", "broker-1", { partitioned: true }), link("broker-1", "nowhere", { delay_us: 1 })];
  assert.deepEqual(troubled(scene, { ...state, links }).map(({ key, sign }) => [key, sign]), [["broker-1~broker-2", "50 ms"], ["broker-1~producer-a", "✕"]]);
});

test("a sign stands on its way where it covers no client and no other sign, and labels keep off it", () => {
  const own = { ...state, brokers: brokers(3), links: ["broker-2", "broker-3"].flatMap((other) => [{ from: "broker-1", to: other, delay_us: 400_000 }]) };
  for (const [width, height] of [[370, 520], [640, 420], [790, 420], [1100, 420], [1440, 420]]) {
    const scene = layout(own, width, height);
    const signs = signPlaces(scene, own);
    assert.ok(signs.every(({ left, right }) => left >= 0 && right <= width), `${width} ${JSON.stringify(signs)}`);
    const clients = [...scene.left, ...scene.right, ...(scene.stacked ? [] : scene.brokers)].map(({ x, y, w, h }) => ({ left: x, right: x + w, top: y, bottom: y + h }));
    assert.equal(signs.length, 2);
    const apart = (one, other) => one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;
    for (const one of signs) for (const other of [...clients, ...signs]) assert.ok(one === other || apart(one, other), `${width}: ${one.sign} ${JSON.stringify([one, other])}`);
    const near = (one, other) => apart({ ...one, left: one.left - 5.9, right: one.right + 5.9, top: one.top - 5.9, bottom: one.bottom + 5.9 }, other);
    assert.ok(near(...signs), `${width}: two signs read as one: ${JSON.stringify(signs)}`);
    for (const one of signs) for (const other of signs) for (let share = 0; share <= 1 && one.aside && one !== other; share += 0.02) {
      const { x, y } = along(other.line, share);
      assert.ok(near(one, { left: x, right: x, top: y, bottom: y }), `${width}: another way passes ${one.sign}`);
    }
    const [sign] = signs;
    const label = { places: [{ x: sign.x, y: sign.y }], texts: ["Fetch"], side: -1, rank: 1, before: null, way: "a" };
    const [{ place }] = arrange([label], { ...scene, signs }, (text) => text.length * 6.3);
    assert.ok(place === null || apart(place, sign));
  }
});

test("what travels on a slow way does not pass over what is written beside it", () => {
  const own = { ...state, brokers: brokers(3), links: [1, 2, 3].map((id) => ({ from: "producer-a", to: `broker-${id}`, delay_us: 400_000 })) };
  for (const width of [700, 795, 1100, 1440]) {
    const scene = layout(own, width, 420);
    const signs = signPlaces(scene, own);
    for (const { line, left, right, top, bottom, sign } of signs) {
      for (const { x, y, w, h } of [...scene.left, ...scene.brokers])
        assert.ok(right <= x || left >= x + w || bottom <= y || top >= y + h, `${width}: ${sign} at ${[left, right, top, bottom]} is on ${[x, y, w, h]}`);
      for (const other of signs) assert.ok(other.sign === sign && other.left === left && other.top === top || right <= other.left || left >= other.right || bottom <= other.top || top >= other.bottom);
      for (let share = 0; share <= 1; share += 0.02) {
        const { x, y } = along(line, share);
        if (width < 1000) continue; // where there is no room beside a way it is written on it, above what passes
        const far = Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
        assert.ok(far >= 7, `${width}: ${sign} at ${[left, right, top, bottom]} and ${x} ${y}`);
      }
    }
  }
});

test("what failed is never cut off a producer's box", () => {
  const words = { words: { "noun.producer": "producer" }, t: (key, { acked, failed } = {}) => (key === "stage.acked_failed" ? `${acked} acked, ${failed} failed` : key) };
  const client = { kind: "producer", state: "running", settings: {}, acked: 5754, failed: 176 };
  const own = { ...state, clients: { "producer-a": client } };
  const box = { kind: "producer", name: "producer-a", client, x: 0, y: 0, h: 58 };
  const said = (w) => JSON.stringify(side({ words, state: own, acks: "all", mode: "learn" }, { ...box, w }));
  assert.ok(said(180).includes("5754 acked, 176 failed"));
  assert.ok(said(120).includes("✓ 5,754  ✕ 176"));
});

test("a sign of several faults covers no client and no broker: without its shares where these have no room", () => {
  const link = { from: "producer-a", to: "broker-2", delay_us: 0, drop: 0.3, duplicate: 0.3, reorder: 0.3 };
  for (const width of [640, 795, 1100, 1440]) {
    const scene = layout({ ...state, links: [link] }, width, 420);
    const [{ sign, left, right, top, bottom }] = signPlaces(scene, { ...state, links: [link] });
    assert.ok(["✕ 30 % · ×2 30 % · ⇄ 30 %", "✕ · ×2 · ⇄", "✕×2⇄"].includes(sign), sign);
    for (const { x, y, w, h } of [...scene.left, ...scene.right, ...scene.brokers])
      assert.ok(right <= x || left >= x + w || bottom <= y || top >= y + h, `${width}: ${sign} at ${[left, right, top, bottom]} is on ${[x, y, w, h]}`);
  }
});

test("each link between brokers and from a client to a leader has one handle, and no two are in each other's way", () => {
  const own = { ...state, brokers: brokers(3), links: [] };
  const scene = layout(own, 1100, 600);
  const places = linkPlaces(scene, own, new Set([1, 2]));
  assert.deepEqual(places.map(({ name }) => name).slice(0, 3), ["broker-1~broker-2", "broker-1~broker-3", "broker-2~broker-3"]);
  assert.ok(places.some(({ name }) => name === "broker-2~producer-a") && !places.some(({ name }) => /operator|broker-3~producer/.test(name)));
  for (const one of places) for (const other of places) assert.ok(one === other || Math.hypot(one.x - other.x, one.y - other.y) >= APART);
});

test("among many brokers only links with a fault have a handle, where their sign stands", () => {
  const own = { ...state, brokers: brokers(6), links: [{ from: "broker-5", to: "broker-2", partitioned: true }, { from: "broker-2", to: "broker-5", partitioned: true }] };
  assert.deepEqual(linkPlaces(layout(own, 1100, 600), own, new Set()).map(({ between }) => between), [["broker-2", "broker-5"]]);
});
