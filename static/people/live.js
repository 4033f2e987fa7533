/**
 * A page about people that renews itself: the part `#live` is asked for again, and the server answers when there is news.
 *
 *     GET ?since=VERSION&wait=25  ->  the same page, with another version  ->  its `#live` takes the place of the old one
 */
import { keepBegun } from "./begun.js";
import { leaveFor } from "./leave.js";
import { localTimes } from "./times.js";

const PAUSE_MS = 400; // what comes in between is shown together
const AWAY_MS = 3000;

const later = (ms) => new Promise((done) => setTimeout(done, ms));

function put(next) {
  const old = document.getElementById("live");
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const scrolled = old.querySelector(".scroll")?.scrollLeft ?? 0;
  localTimes(next);
  keepBegun(old, next);
  old.replaceWith(next);
  const region = next.querySelector(".scroll");
  if (region) region.scrollLeft = scrolled;
  if (focused) document.getElementById(focused)?.focus();
}

async function renew() {
  const { version } = document.getElementById("live").dataset;
  const response = await fetch(`?since=${version}&wait=25`, { redirect: "manual" });
  if (response.status === 404) return leaveFor(document.getElementById("live").dataset.gone ?? "");
  if (response.type === "opaqueredirect" || response.status === 401) return leaveFor(globalThis.location.pathname + globalThis.location.search);
  if (!response.ok) return later(AWAY_MS);
  const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("live");
  if (next && next.dataset.version !== version) put(document.adoptNode(next));
  return later(PAUSE_MS);
}

async function keepNew() {
  for (;;) {
    try {
      await renew();
    } catch {
      await later(AWAY_MS);
    }
  }
}

localTimes();
if (document.getElementById("live")) keepNew();
