import assert from "node:assert/strict";
import { test } from "node:test";
import { inLocalTime } from "../../static/people/times.js";

const late = { code: "deadline_over", params: { due: "2026-11-27T14:27+00:00" } };

test("a deadline is told in the time and language of its reader", () => {
  assert.match(inLocalTime(late, "ko", "Asia/Seoul").params.due, /^11월 27일 .*11:27$/);
  assert.match(inLocalTime(late, "en", "UTC").params.due, /^Nov 27, 0?2:27\sPM$/);
});

test("a problem without a deadline stays as it is", () => {
  const other = { code: "no_more_tries", params: { most: 3 } };
  assert.equal(inLocalTime(other, "en"), other);
  assert.deepEqual(inLocalTime({ code: "one_at_a_time" }, "en"), { code: "one_at_a_time" });
});
