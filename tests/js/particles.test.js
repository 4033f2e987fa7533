import assert from "node:assert/strict";
import { test } from "node:test";
import { ending, particle } from "../../static/i18n/particles.js";

const after = (text, pair) => text + particle(text, pair);

test("a number takes the particle of its Korean reading", () => {
  const subjects = ["0이", "1이", "2가", "3이", "4가", "5가", "6이", "7이", "8이", "9가", "10이", "12가", "100이", "1,000이", "20,001이"];
  for (const wanted of subjects) assert.equal(after(wanted.slice(0, -1), "이/가"), wanted);
});

test("a number that ends in ㄹ takes 로, another consonant 으로", () => {
  const ways = ["0으로", "1로", "2로", "3으로", "6으로", "7로", "8로", "9로", "10으로"];
  for (const wanted of ways) assert.equal(after(/^\d+/.exec(wanted)[0], "으로/로"), wanted);
});

test("Korean words follow their last syllable", () => {
  assert.equal(after("브로커", "은/는"), "브로커는");
  assert.equal(after("세션", "을/를"), "세션을");
  assert.equal(after("파일", "으로/로"), "파일로");
  assert.equal(after("토픽", "과/와"), "토픽과");
});

test("brackets and quotes after a word are not heard", () => {
  assert.equal(ending("{1, 2}"), ending("2"));
  assert.equal(ending("orders-0 [0, 3]"), "c");
  assert.equal(after("'billing'", "이/가"), "'billing'이");
});

test("Latin letters read one by one follow the letter's name, words their sound", () => {
  assert.equal(after("ISR", "이/가"), "ISR이");
  assert.equal(after("HW", "이/가"), "HW가");
  assert.equal(after("orders", "을/를"), "orders를");
  assert.equal(after("topic", "을/를"), "topic을");
});
