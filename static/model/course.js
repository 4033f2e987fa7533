/**
 * The way through the lessons: what is done, what is next, what a search finds. No DOM.
 *
 *     lessons: [{name, title, text, subject, minutes, level}] in the order of the way
 *     results: {name: "right" | "near" | "wrong" | "seen"}
 */

/** The first lesson that is not done: behind `after` in its track, else behind it, else from the beginning; null: all are. */
export function next(lessons, results, after = null) {
  const open = lessons.filter(({ name, minutes }) => minutes !== null && !(name in results) && name !== after);
  const at = lessons.findIndex(({ name }) => name === after);
  const behind = open.filter((one) => lessons.indexOf(one) > at);
  return behind.find(({ subject }) => subject === lessons[at]?.subject) ?? behind[0] ?? open[0] ?? null;
}

/** How far somebody has come: {done, of, minutes} of these lessons; `minutes` are those that are left. */
export function progressOf(lessons, results) {
  const open = lessons.filter(({ name }) => !(name in results));
  return { done: lessons.length - open.length, of: lessons.length, minutes: open.reduce((sum, { minutes }) => sum + (minutes ?? 0), 0) };
}

/** Lessons in which every word of a search is found: title, text, name or settings, in the reader's language or in English. */
export function matching(lessons, wanted, language) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return lessons;
  return lessons.filter(({ name, title, text }) => {
    const all = [name, title?.[language], title?.en, text?.[language]].join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}
