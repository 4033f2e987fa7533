/** Moments are written by the server in UTC; a reader sees them in his own time. */
export function localTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    const day = at.toDateString() === new Date().toDateString() ? {} : { month: "numeric", day: "numeric" };
    time.textContent = at.toLocaleString(document.documentElement.lang, { ...day, hour: "2-digit", minute: "2-digit" });
    time.title = at.toLocaleString(document.documentElement.lang);
  }
}
