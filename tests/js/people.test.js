import assert from "node:assert/strict";
import { test } from "node:test";
import { leaveFor } from "../../static/people/leave.js";
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

test("a page that is told twice to leave goes once, and may leave again when somebody has come back to it", async () => {
  const window = new EventTarget();
  const went = [];
  const shown = (persisted) => window.dispatchEvent(Object.assign(new Event("pageshow"), { persisted }));
  globalThis.addEventListener = window.addEventListener.bind(window);
  globalThis.removeEventListener = window.removeEventListener.bind(window);
  globalThis.location = { assign: (address) => went.push(address) };
  const first = leaveFor("/classes/");
  shown(false); // the page that is left was not open long enough to have been shown
  leaveFor("/classes/");
  assert.deepEqual(went, ["/classes/"]);
  shown(true);
  await first;
  leaveFor("/class/");
  assert.deepEqual(went, ["/classes/", "/class/"]);
});
