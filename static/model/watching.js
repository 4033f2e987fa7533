/**
 * A recorded run as it is watched: from stop to stop, at a speed that can be read. No DOM, no clock.
 *
 *     begin ----------- stop 1 ------ stop 2 ---------------- stop 3 --- end (the verdict)
 *           a leg: 5 s  at 1x   0.5 s at 1/5x      30 s at 5x
 *
 * Where a viewer is follows from the position that he looks at alone: he may step, scrub and go back at will.
 */
const LEAST_S = 2.5; // a leg takes at least, and at most, so long to watch
const MOST_S = 6;
const AT_ONCE_US = 500; // what is nearer than that is not played

/** A number of one digit, with zeros behind it: 357 is 400. */
const plain = (n) => {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return Math.round(n / unit) * unit;
};

/** Speed of a leg of `us` virtual microseconds, 0 for none: a plain number, or one over such a number. */
export function legSpeed(us) {
  if (us < AT_ONCE_US) return 0;
  const s = us / 1e6;
  const speed = s / Math.min(MOST_S, Math.max(LEAST_S, s));
  return speed >= 1 ? plain(speed) : 1 / plain(1 / speed);
}

/** How many of `places` (positions right behind stops, ascending) a viewer at `viewed` has reached. */
export function reached(places, viewed) {
  let n = 0;
  while (n < places.length && places[n] <= viewed) n += 1;
  return n;
}

/**
 * Where a viewer stands: {reached, of, at, next}. `at`: index of the stop that he stands at (null between two),
 * `next`: the position that the next leg leads to, null at the end. `end` is the last position.
 */
export function standing(places, end, viewed) {
  const n = reached(places, viewed);
  const at = n > 0 && places[n - 1] === viewed ? n - 1 : null;
  return { reached: n, of: places.length, at, next: viewed >= end ? null : places[n] ?? end };
}

/** How a guess of a number did: "right" | "near" (within `percent` of the answer) | "wrong". */
export function graded(guess, answer, percent = 0) {
  if (guess === answer) return "right";
  return Math.abs(guess - answer) <= (Math.abs(answer) * percent) / 100 ? "near" : "wrong";
}

/** What became of a prediction: {grade, answer}; null without one. `result`: {chosen, facts}. */
export function prediction({ chosen, facts }) {
  const asked = facts.scenario?.predict;
  if (!asked || chosen === null || chosen === undefined) return null;
  if (asked.choices) return typeof facts.prediction === "number" ? { grade: facts.prediction === chosen ? "right" : "wrong", answer: facts.prediction } : null;
  if (typeof facts.answer !== "number") return null;
  return { grade: graded(chosen, facts.answer, asked.number?.near ?? (asked.number ? 25 : 0)), answer: facts.answer };
}
