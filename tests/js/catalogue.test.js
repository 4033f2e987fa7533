import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { Story, namesOf } from "../../static/model/story.js";
import { troublesOf, troublesText } from "../../static/views/troubles.js";
import { sentence } from "../../static/views/story.js";
import { Catalogue } from "../../static/i18n/catalogue.js";
import { FILTERS, commandText, format } from "../../static/i18n/format.js";

const read = (part, language) => JSON.parse(readFileSync(new URL(`../../web/messages/${part}.${language}.json`, import.meta.url)));
const problems = (language) => JSON.parse(readFileSync(new URL(`../../broker_core/kernel/problems/${language}.json`, import.meta.url)));
const catalogue = (language) => new Catalogue({ language, page: { ...read("page", language), ...read("desk", language), ...read("lesson", language), ...read("inspect", language), ...read("spark", language), ...read("learn", language) }, story: read("story", language) });
const [en, ko] = [catalogue("en"), catalogue("ko")];
const HOLE = /\{([^{}]+)\}/g;
const names = (text) => new Set([...text.matchAll(HOLE)].map(([, hole]) => hole.split("|")[0]).filter((name) => !/[가-힣]/.test(name)));

const elected = { code: "leader_elected", node: "broker-2", t: 0, params: { topic: "orders", partition: 0, leader: 3, leader_epoch: 6, isr: [2, 3], reason: "broker gone" } };

test("one event is a sentence in each language", () => {
  assert.equal(en.say(elected), "Broker 3 becomes leader of orders-0, leader epoch 6.");
  assert.equal(ko.say(elected), "브로커 3이 orders-0의 리더가 되었습니다. 리더 에포크는 6입니다.");
  assert.match(en.why(elected), /old leader is gone/);
  assert.match(ko.why(elected), /이전 리더가 사라졌습니다/);
});

test("several like events are told as one", () => {
  const many = { n: 17, names: "orders-0, orders-3" };
  assert.equal(en.say(elected, many), "Broker 3 becomes leader of 17 partitions: orders-0, orders-3.");
  assert.equal(ko.say(elected, many), "브로커 3이 파티션 17개의 리더가 되었습니다: orders-0, orders-3.");
});

test("a text may depend on the generation of Kafka", () => {
  const registered = { code: "broker_registered", node: "broker-2", params: { broker: 2 } };
  const today = catalogue("en");
  today.generation = () => "kraft";
  assert.match(en.why(registered), /znode/);
  assert.match(today.why(registered), /metadata log/);
  assert.match(en.t("coach.waiting.protocol", { broker: 2 }), /znode/);
  assert.match(today.t("coach.waiting.protocol", { broker: 2 }), /fences/);
  assert.equal(today.t("coach.kill", { leader: 1, partition: "orders-0" }), en.t("coach.kill", { leader: 1, partition: "orders-0" }));
  const zookeepers = Object.keys(ko.words).filter((key) => key.endsWith(".kraft") && !(key.slice(0, -".kraft".length) in ko.words));
  assert.deepEqual(zookeepers.filter((key) => !key.startsWith("generation.")), []);
});

test("the reason may depend on the kind of node", () => {
  const start = (node) => ({ code: "process_started", node, params: { incarnation: 1 } });
  assert.notEqual(en.why(start("broker-1")), en.why(start("producer-orders")));
});

test("what a disk or a broker says is told in the reader's language, with the file as it is called", () => {
  const fault = { code: "disk_fault", node: "broker-1", params: { path: "data/b", error: "append data/b/orders-1/0.log: Input/output error", operation: "log directory offline" } };
  assert.match(en.say(fault), /append data\/b\/orders-1\/0.log: Input\/output error/);
  assert.match(ko.say(fault), /data\/b\/orders-1\/0.log에 추가: 입출력 오류/);
  const refused = { code: "frame_refused", node: "broker-1", params: { connection: null, source: "producer-a", reason: "acks=0 and CORRUPT_MESSAGE for orders-0" } };
  assert.match(en.say(refused), /from producer a: .*acks=0 and CORRUPT_MESSAGE for orders-0/i);
  assert.match(en.say({ ...refused, params: { ...refused.params, connection: 3, source: "3" } }), /from connection 3:/);
  assert.match(ko.say(refused), /acks=0인데 orders-0에서 CORRUPT_MESSAGE/);
});

test("both languages have the same keys", () => {
  assert.deepEqual(Object.keys(ko.words).sort(), Object.keys(en.words).sort());
  assert.deepEqual(Object.keys(ko.story).sort(), Object.keys(en.story).sort());
  for (const [code, entry] of Object.entries(en.story)) {
    assert.deepEqual(Object.keys(ko.story[code]).sort(), Object.keys(entry).sort(), code);
    for (const by of ["why_by", "say_by", "many_by"]) assert.deepEqual(Object.keys(ko.story[code][by] ?? {}), Object.keys(entry[by] ?? {}), code);
  }
});

test("a sentence names the same parameters in both languages", () => {
  for (const [key, text] of Object.entries(en.words)) assert.deepEqual(names(ko.words[key]), names(text), key);
  for (const [code, entry] of Object.entries(en.story)) {
    assert.deepEqual(names(ko.story[code].say), names(entry.say), code);
    if (entry.many) assert.deepEqual(names(ko.story[code].many), names(entry.many), code);
  }
});

test("every filter that a sentence uses exists", () => {
  for (const { words, story } of [en, ko]) {
    const texts = [...Object.values(words), ...Object.values(story).flatMap(({ say, many, why }) => [say, many ?? "", why ?? ""])];
    for (const [, hole] of texts.join(" ").matchAll(HOLE)) {
      const filter = hole.split("|")[1];
      if (filter) assert.ok(filter in FILTERS, hole);
    }
  }
});

test("Korean texts leave no English words but names of settings, tools and protocol terms", () => {
  const allowed = /^(up|record|level|details|acks|all|min|insync|replicas|replica|lag|time|max|ms|ISR|ELR|HW|LEO|REST|API|KIP|Produce|Fetch|ApiVersions|kcat|kill|confluent|kafka|purgatory|znode|ephemeral|controller|brokers|ids|consumer|offsets|UnderReplicatedPartitions|OfflinePartitionsCount|UnderMinIsrPartitionCount|v|s|index|poll|group|size|DeleteRecords|orders|fsync|YAML|TCP|python|num|network|threads|queued|requests|io|JoinGroup|SyncGroup|aiokafka|B|Spark|Parquet|brokerlab|replay|MB|GB|ZooKeeper|KRaft|Java|JavaScript|Apache|ID|InitProducerId|EndTxn|transaction|transactional|version|auto|offset|reset|share|state|id|expiration|read|committed|NoOp)$/i;
  const all = [...Object.entries(ko.words), ...Object.entries(ko.story).flatMap(([code, { say, why, many }]) => [[code, say], [code, why ?? ""], [code, many ?? ""]])];
  for (const [key, text] of all) {
    if (key.includes(".protocol")) continue; // it quotes requests, settings and error codes
    const own = text.replaceAll(HOLE, " ").replaceAll(/[a-z]+(?:\.[a-z]+)+/g, " "); // settings have dots
    for (const [word] of own.matchAll(/[A-Za-z]+/g)) assert.match(word, allowed, `${key}: ${text}`);
  }
});

test("a count of one has the word in the singular", () => {
  assert.equal(format("{n|count} {n|plural|record is|records are} lost", { n: 1 }, {}), "1 record is lost");
  assert.equal(format("{n|count} {n|plural|record is|records are} lost", { n: 0 }, {}), "0 records are lost");
  assert.match(en.t("receipt.verdict.so_far", { n: 1 }), /; 1 record was not read/);
  const gave = (count) => en.say({ code: "send_failed", node: "producer-orders", params: { count, topic: "orders", partition: 0, error: "TIMEOUT" } });
  assert.match(gave(1), /gives up 1 record for/);
  assert.match(gave(2000), /gives up 2,000 records for/);
  for (const text of [...Object.values(en.words), ...Object.values(en.story).flatMap(({ say, many }) => [say, many ?? ""])]) {
    for (const [, hole] of text.matchAll(HOLE)) if (hole.split("|")[1] === "plural") assert.equal(hole.split("|").length, 4, hole);
  }
});

test("a particle stands after the text that a hole was filled with", () => {
  assert.equal(format("{a}{이/가} {b}{을/를}", { a: 1, b: 2 }, {}), "1이 2를");
});

test("every label that a module or the page asks for is in the catalogue", () => {
  const root = new URL("../../static/", import.meta.url);
  const modules = readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".js")).map((name) => readFileSync(new URL(name, root), "utf8"));
  const asked = [...modules.join("\n").matchAll(/\.t\("([^"]+)"/g)].map(([, key]) => key);
  const verbs = ["kill", "pause", "resume", "restart", "stop", "power_loss"].flatMap((verb) => [`tip.${verb}`, `lever.${verb}`, `do.${verb}`]);
  const page = readFileSync(new URL("../../web/pages/templates/lab.html", import.meta.url), "utf8");
  asked.push(...verbs, ...[...page.matchAll(/data-t(?:-\w+)?="([^"]+)"/g)].map(([, key]) => key));
  assert.ok(asked.length > 80);
  for (const key of asked) assert.ok(key in en.words, key);
});

test("an event that nobody knows is shown with its parameters", () => {
  assert.equal(en.say({ code: "new_thing", node: "broker-1", params: { a: 1 } }), 'new_thing {"a":1}');
});

test("a command about a clock says by how much it will be wrong, or that it is set right", () => {
  const told = [3_600_000, -1500, 90_000, -250, 0].map((ms) => commandText({ do: "clock_skew", broker: 1, ms }, en.words));
  assert.deepEqual(told, ["Wrong clock: broker 1, +1 h", "Wrong clock: broker 1, −1.5 s", "Wrong clock: broker 1, +1.5 min", "Wrong clock: broker 1, −250 ms", "Set the clock right: broker 1"]);
});

test("a command is told in words, and a key that has none as it stands", () => {
  const told = (command) => [en, ko].map(({ words }) => commandText(command, words));
  assert.deepEqual(told({ do: "delay_link", between: [2, 3], delay_ms: 400, one_way: true }), [
    "Delay link: broker 2 – broker 3, 400 ms, one way", "링크 지연: 브로커 2 – 브로커 3, 400 ms, 한 방향만"]);
  assert.deepEqual(told({ do: "start_client", name: "reader", kind: "consumer", topic: "orders", rate: 20, fails: "twice" }), [
    "Start client: reader, consumer, orders, 20 records/s, fails=twice", "클라이언트 시작: reader, 컨슈머, orders, 초당 20개, fails=twice"]);
  assert.deepEqual(told({ do: "create_topic", topic: "orders", partitions: 1, replication_factor: 3, assignment: [[1, 2, 3]] }), [
    "Create topic: orders, 1 partition, replication factor 3, assignment {1, 2, 3}", "토픽 만들기: orders, 파티션 1개, 복제 계수 3, 할당 {1, 2, 3}"]);
  assert.deepEqual(told({ do: "produce", topic: "orders", value: null, to: 2, damaged: false }), [
    "Write a record: orders, no value, to broker 2", "레코드 쓰기: orders, 값 없음, 브로커 2로"]);
  assert.deepEqual(told({ do: "reset_offsets", group: "g", topic: "orders", to: "earliest" }), [
    "Set the group's offsets: group g, orders, to the beginning", "그룹의 오프셋 재설정: g 그룹, orders, 처음으로"]);
  assert.deepEqual(told({ do: "add_controller", controller: 4 }), ["Give it a vote: controller 4", "투표권 주기: 컨트롤러 4"]);
});

test("a broker's card has a sign for each of its troubles, and the same in words", () => {
  const told = (broker, words) => [troublesOf(broker, words).map(({ sign }) => sign), troublesText(broker, words)];
  assert.deepEqual(told({ disk: [], clock_ms: 0 }, en), [[], ""]);
  assert.deepEqual(told({ disk: [{ kind: "slow" }], clock_ms: 3_600_000 }, en), [["▤✕ slow disk", "◷✕ +1 h"], " Disks: slow disk. Its clock is wrong by +1 h."]);
  assert.deepEqual(told({ disk: [{ kind: "slow" }, { kind: "full" }], clock_ms: -5 }, ko), [["▤✕ 디스크 장애 2가지", "◷✕ −5 ms"], " 디스크: 느린 디스크, 디스크 가득 참. 시계가 −5 ms만큼 틀립니다."]);
});

test("disks say why they matter by their first fault, and something else when they work again", () => {
  const why = (faults) => ko.why({ code: "disks_changed", node: "broker-2", params: { faults } });
  const texts = [[], [{ kind: "slow" }], [{ kind: "full" }], [{ kind: "misdirected" }]].map(why);
  assert.equal(new Set(texts).size, 4);
  assert.match(texts[0], /정상/);
});

test("what a parked request waits for has words: partitions, groups, fetch sessions", () => {
  const say = (keys) => ko.say({ code: "purgatory_parked", node: "broker-1", params: { operation: "Fetch", keys, timeout_ms: 200 } });
  assert.match(say(["session 1461227226", "orders-0"]), /Fetch 세션 1461227226, orders-0/);
});

test("a refused command is told in the reader's language", () => {
  const telling = (language) => new Catalogue({ language, page: catalogue(language).words, story: read("story", language), problems: problems(language) });
  const refused = { code: "already", params: { node: "broker-2", state: "paused" } };
  const say = (language, problem) => telling(language).say({ code: "command_refused", node: "world", params: { command: { do: "pause", broker: 2 }, problem } });
  assert.match(say("ko", refused), /브로커 2는 이미 일시 정지된 상태입니다/);
  assert.match(say("en", refused), /\(broker-2 is paused already\)/);
  assert.match(say("ko", { code: "kafka_says", params: { error: "TOPIC_ALREADY_EXISTS", words: "Topic 'orders' already exists." } }), /토픽이 이미 있습니다 \(TOPIC_ALREADY_EXISTS: “Topic 'orders' already exists\.”\)/);
  assert.match(say("ko", { code: "new_thing", params: { a: 1 } }), /new_thing \{"a":1\}/);
});

test("who has ended in order is told by what it was, also with a name of its own", () => {
  const ended = (node, how) => ({ code: "process_ended", node, params: { how } });
  assert.match(en.why(ended("broker-1", "shutdown")), /moves leaders away/);
  assert.match(en.why(ended("consumer-orders", "shutdown")), /left its group/);
  assert.match(en.why(ended("producer-orders", "shutdown")), /waited for the answers/);
  assert.match(en.why(ended("consumer-orders", "crash")), /until the group notices/);
  assert.match(ko.why(ended("consumer-orders", "shutdown")), /그룹을 떠나/);
  const known = new Catalogue(JSON.parse(JSON.stringify({ language: "en", page: en.words, story: en.story })));
  known.kindOf = (node) => (node === "reader" ? "consumer" : "other");
  assert.match(known.why(ended("reader", "shutdown")), /left its group/);
});

test("one offset is told as one, several as a range", () => {
  const appended = (last) => ko.say({ code: "log_appended", node: "broker-1", params: { topic: "orders", partition: 0, base_offset: 200, last_offset: last, role: "leader" } });
  assert.deepEqual([appended(200), appended(203)], ["브로커 1이 orders-0에 200을 추가했습니다 (리더).", "브로커 1이 orders-0에 200–203을 추가했습니다 (리더)."]);
});

test("what comes back of a controller of its own is its log, of a coordination server its tree", () => {
  const started = { code: "process_started", node: "controller-101", params: { incarnation: 2 } };
  const known = Object.assign(catalogue("en"), { generation: () => "kraft" });
  assert.match(known.why(started), /metadata log from its disk/);
  assert.match(en.why({ ...started, node: "zookeeper-1" }), /tree comes back/);
});

test("links that change together are told as one, both directions as one, and what they do in words", () => {
  const words = catalogue("en");
  const link = (source, dest, more) => ({ seq: 1, t: 1, code: "link_changed", node: "world", cause: 0, params: { source, dest, delay_us: 1000, drop: 0, partitioned: true, jitter_us: 0, duplicate: 0, reorder: 0, bandwidth: 0, ...more } });
  const story = new Story({});
  [["broker-1", "broker-2"], ["broker-2", "broker-1"], ["broker-1", "broker-3"]].forEach(([one, other], at) => story.add(link(one, other), at));
  assert.deepEqual(namesOf(story.items[0], (node) => words.name(node)), ["broker 1 ↔ broker 2", "broker 1 → broker 3"]);
  assert.equal(sentence(story.items[0], words), "The links broker 1 ↔ broker 2, broker 1 → broker 3 are cut: nothing passes.");
  ["broker-2", "broker-4", "broker-5"].forEach((other, at) => story.add(link("broker-3", other), at + 3));
  assert.equal(sentence(story.items[0], words),
    "The links broker 1 ↔ broker 2, broker 1 → broker 3, broker 3 → broker 2, broker 3 → broker 4 and 1 more are cut: nothing passes.");
  assert.equal(words.say(link("broker-1", "broker-2", { partitioned: false })), "The link broker 1 → broker 2 delivers everything, in 1 ms.");
  assert.equal(words.say(link("broker-1", "broker-2", { partitioned: false, drop: 0.2 })), "The link broker 1 → broker 2: delay 1 ms, loss 20 %.");
  const narrow = { partitioned: false, delay_us: 0, duplicate: 0.3, reorder: 0.1, bandwidth: 20_000 };
  assert.equal(words.say(link("broker-1", "broker-2", narrow)), "The link broker 1 → broker 2: doubled 30 %, out of order 10 %, at most 20 kB/s.");
  words.usualDelay = () => 1000; // of this cluster
  assert.equal(words.say(link("broker-1", "broker-2", { partitioned: false })), "The link broker 1 → broker 2 is healed: everything passes again.");
  assert.equal(words.say(link("broker-1", "broker-2", { partitioned: false, delay_us: 2000 })), "The link broker 1 → broker 2 delivers everything, in 2 ms.");
  const changes = [{ partitioned: true }, { drop: 0.2 }, { duplicate: 0.2 }, { reorder: 0.2 }, { bandwidth: 20_000 }, { delay_us: 400_000 }, { jitter_us: 9000 }, {}];
  for (const one of [words, Object.assign(catalogue("ko"), { usualDelay: () => 1000 })]) {
    const told = changes.map((change) => one.why(link("broker-1", "broker-2", { partitioned: false, ...change })));
    assert.equal(new Set(told).size, changes.length - 1, "each change has a reason of its own, jitter that of delay");
    assert.equal(told[5], told[6]);
  }
});
