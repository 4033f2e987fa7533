import assert from "node:assert/strict";
import test from "node:test";
import { Terms } from "../../static/model/terms.js";

const ENGLISH = [
  { id: "leader", words: ["leader"] }, { id: "epoch", words: ["leader epoch"] }, { id: "isr", words: ["ISR", "in-sync replicas", "in sync"] },
  { id: "min", words: ["min.insync.replicas"] }, { id: "acks", words: ["acks"] }, { id: "index", words: ["index", "indexes"] },
];
const KOREAN = [
  { id: "leader", words: ["리더"] }, { id: "epoch", words: ["리더 에포크"] }, { id: "isr", words: ["ISR", "동기화된 복제본"] }, { id: "log", words: ["로그"] },
];
const found = (terms, text) => terms.split(text).filter((part) => part.id).map(({ id, text: word }) => `${id}:${word}`);

test("the parts of a text are the text", () => {
  const terms = new Terms(ENGLISH, "en");
  const text = "The leader leaves the ISR; in sync are the others.";
  assert.equal(terms.split(text).map((part) => part.text ?? part).join(""), text);
});

test("a term is marked once in a text, at its first place, the longest word first", () => {
  const terms = new Terms(ENGLISH, "en");
  assert.deepEqual(found(terms, "Leaders come and go: a leader has a leader epoch.\nThe leader\nepoch grows."), ["leader:Leaders", "epoch:leader epoch"]);
  assert.deepEqual(found(terms, "Its leader\nepoch"), ["epoch:leader\nepoch"]);
});

test("capitals stand for themselves, small letters begin sentences too, an s may follow", () => {
  const terms = new Terms(ENGLISH, "en");
  assert.deepEqual(found(terms, "isr, Isr. Indexes help. In sync?"), ["index:Indexes", "isr:In sync"]);
  assert.deepEqual(found(terms, "leadership, misleader, cheerleaders"), []);
});

test("names of settings, topics, codes and errors hold no terms", () => {
  const terms = new Terms(ENGLISH, "en");
  assert.deepEqual(found(terms, "leader_elected NOT_LEADER my-leader leader-1 leader.imbalance.check x.acks.y `the leader` NOT_ISR /leader"), []);
  assert.deepEqual(found(terms, "acks=all needs min.insync.replicas. (ISR)"), ["acks:acks", "min:min.insync.replicas", "isr:ISR"]);
});

test("a Korean word is found before its particles and not within another word", () => {
  const terms = new Terms(KOREAN, "ko");
  assert.deepEqual(found(terms, "리더가 ISR에서 빠지고, 동기화된 복제본이 로그를 읽습니다."), ["leader:리더", "isr:ISR", "log:로그"]);
  assert.deepEqual(found(terms, "리더십 블로그 카탈로그"), []);
  assert.deepEqual(found(terms, "리더 에포크는 리더마다 커집니다."), ["epoch:리더 에포크", "leader:리더"]);
});

test("without terms a text is itself", () => {
  assert.deepEqual(new Terms([], "en").split("The leader."), ["The leader."]);
});
