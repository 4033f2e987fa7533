/** What a run is judged with, told in both languages. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Catalogue } from "../../static/i18n/catalogue.js";
import { judged, knownSentence } from "../../static/model/judgement.js";

const part = (name, language) => JSON.parse(readFileSync(new URL(`../../web/messages/${name}.${language}.json`, import.meta.url)));
const REFUSALS = { ko: { sentences: part("problems", "ko").details, parts: part("grammar", "ko").parts } };
const words = (language) => new Catalogue({ language, page: { ...part("page", language), ...part("inspect", language), ...part("desk", language) }, story: {}, refusals: REFUSALS[language] });

const SENTENCES = [
  "receipt.lost: expected >= 1, found 0", "leader_of.orders-0: expected == 2, found None", "steps[0]: expected isr_of orders-0 == 2, found 3",
  "still running after 120 s: producer-orders", "partitions without a leader at the end: what is in them cannot be read",
  "not every replica came back into the ISR within 120 s", "not everything could be read back", "kill (broker: 9) was refused: there is no broker 9",
  "steps[2]: alter_config (broker: 1) was refused: INVALID_REQUEST", "heal_all was refused: nothing is cut",
  "steps[4]: isr_of orders-0 == 9 did not come true within 2 s of virtual time", "the cluster did not form: no controller, or brokers that are not registered",
  "topics were not created: no answer",
  "create_topic (topic: orders) was refused: INVALID_REPLICATION_FACTOR: Replication factor: 4 larger than available brokers: 3.",
];

test("an expectation that is not met and a note of a run are told in Korean, with their figures", () => {
  const korean = words("ko");
  for (const sentence of SENTENCES) {
    const text = judged(sentence, korean);
    assert.ok(knownSentence(sentence), sentence);
    assert.match(text, /[가-힣]/);
    assert.doesNotMatch(text, /\b(expected|found|within|the|not|still|None|larger)\b/);
  }
  assert.equal(judged(SENTENCES[0], korean), "receipt.lost: 기대한 값 >= 1, 실제 값 0");
  assert.equal(judged("anything else", korean), "anything else");
});

test("in English it stays as the command line prints it", () => {
  assert.equal(judged(SENTENCES[0], words("en")), SENTENCES[0]);
});
