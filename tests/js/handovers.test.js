import assert from "node:assert/strict";
import { test } from "node:test";
import { handovers } from "../../static/model/handovers.js";

const member = (id, assignment, target, revoking = {}) => ({ id, client_id: `consumer-${id}`, assignment, target, revoking });
const jobs = (...numbers) => ({ jobs: numbers });

test("a member gives up what its target lacks before it is told and while it gives back, and the other one waits for it", () => {
  const wanted = { a: { gives: ["jobs-2", "jobs-3"], to: ["consumer-b"], waits: [], from: [] }, b: { gives: [], to: [], waits: ["jobs-2", "jobs-3"], from: ["consumer-a"] } };
  assert.deepEqual(handovers([member("a", jobs(0, 1, 2, 3), jobs(0, 1)), member("b", {}, jobs(2, 3))]), wanted);
  assert.deepEqual(handovers([member("a", jobs(0, 1), jobs(0, 1), jobs(2, 3)), member("b", {}, jobs(2, 3))]), wanted);
});

test("what nobody has any more is waited for from nobody, and a settled group hands nothing over", () => {
  const [waits, settled] = [handovers([member("b", jobs(0), jobs(0, 1))]).b, handovers([member("a", jobs(0), jobs(0)), member("b", jobs(1), jobs(1))])];
  assert.deepEqual(waits, { gives: [], to: [], waits: ["jobs-1"], from: [] });
  assert.ok(Object.values(settled).every(({ gives, waits: none }) => !gives.length && !none.length));
});
