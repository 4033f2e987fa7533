/** Moments are written by the server in UTC; a reader sees them in his own time. */

/** A problem whose deadline (`due`) is told in the reader's time: 2026-11-27T14:27+00:00 -> "Nov 27, 11:27 PM". */
export function inLocalTime(problem, language, zone = undefined) {
  const at = new Date(problem.params?.due);
  if (Number.isNaN(at.valueOf())) return problem;
  const due = at.toLocaleString(language, { timeZone: zone, month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  return { ...problem, params: { ...problem.params, due } };
}

export function localTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    const day = at.toDateString() === new Date().toDateString() ? {} : { month: "numeric", day: "numeric" };
    time.textContent = at.toLocaleString(document.documentElement.lang, { ...day, hour: "2-digit", minute: "2-digit" });
    time.title = at.toLocaleString(document.documentElement.lang);
  }
}
