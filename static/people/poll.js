/**
 * The question that a class is asked, in a student's page; and the way to what the teacher looks at.
 *
 *     GET /class/poll/?since=VERSION&wait=25  ->  `#poll` of that page takes the place of the old one
 *     an answer -> POST /api/me/poll           until the teacher closes it
 *     GET /api/me/lead?since=&wait=            a page that is to follow goes where the teacher is
 */
import { api } from "../net/api.js";
import { answerOf, movable, showGraded } from "../quizzes/answers.js";

const AWAY_MS = 3000;
const PAUSE_MS = 300;
const later = (ms) => new Promise((done) => setTimeout(done, ms));
const facts = () => JSON.parse(document.getElementById("poll-facts").textContent);

function put(next) {
  document.getElementById("poll").replaceWith(next);
  const form = next.querySelector("form.question");
  if (!form) return;
  const { graded } = facts();
  for (const field of form.elements) field.disabled = next.dataset.state !== "open";
  if (graded) showGraded(form, graded, facts());
}

async function renew() {
  const { version } = document.getElementById("poll").dataset;
  const response = await fetch(`/class/poll/?since=${version}&wait=25`, { redirect: "manual" });
  if (!response.ok) return later(AWAY_MS);
  const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("poll");
  if (next && next.dataset.version !== version) put(document.adoptNode(next));
  return later(PAUSE_MS);
}

let ledAt = 0;

/** Shows the way to the teacher while he leads. */
async function led() {
  const { version, look } = await api(`/me/lead?since=${ledAt}&wait=25`);
  ledAt = version;
  document.getElementById("to-follow").hidden = look === null;
  return later(PAUSE_MS);
}

async function always(what) {
  for (;;) {
    try {
      await what();
    } catch {
      await later(AWAY_MS);
    }
  }
}

movable(document);
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("#poll form.question");
  if (!form) return;
  event.preventDefault();
  const said = document.getElementById("given");
  try {
    await api("/me/poll", { answer: answerOf(form) });
    said.textContent = facts().words.taken;
  } catch (error) {
    said.textContent = error.message;
  }
});
always(renew);
always(led);
