/**
 * An exercise that somebody writes: checked as it is typed, its solution and its wrong attempt tried, saved as a file.
 *
 *     text -> POST /api/exercises/validate -> what is wrong, and in which line
 *          -> POST /api/exercises/attempts -> a job -> whether the solution reaches the goals, and the wrong attempt does not
 *          -> POST /api/classes/CODE/tasks -> handed out to a class
 */
import { api, ofServer } from "../net/api.js";
import { leaveFor } from "../people/leave.js";
import { alert, ended, refusal, verdict, words } from "./work.js";

const QUIET_MS = 400; // after the last key
const form = document.getElementById("form");
const { text } = form.elements;
const state = document.getElementById("state");
const result = document.getElementById("result");
let waiting = 0;
let asked = 0;

async function check() {
  const number = ++asked;
  let said = words.valid;
  let good = true;
  try {
    await api("/exercises/validate", { yaml: text.value });
  } catch (error) {
    said = await refusal(error);
    good = false;
  }
  if (number !== asked) return; // more was typed meanwhile
  state.textContent = (good ? "✓ " : "✗ ") + said;
  state.className = good ? "good" : "bad";
  for (const button of form.querySelectorAll("button.starts")) button.disabled = !good;
}

async function run(which) {
  result.replaceChildren();
  try {
    const job = await ended(await api("/exercises/attempts", { yaml: text.value, attempt: which }), form);
    if (job.error) throw job.error;
    if (job.state === "done") result.replaceChildren(await verdict(job));
  } catch (error) {
    result.replaceChildren(await alert(error));
  }
}

function save() {
  const name = /^exercise:\s*([\w-]+)/m.exec(text.value)?.[1] ?? "exercise";
  const address = URL.createObjectURL(new Blob([text.value], { type: "application/yaml" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: `${name}.yaml` });
  link.click();
  URL.revokeObjectURL(address);
}

/** To a class, as it stands here; without tries as many as its text says, without a deadline there is none. */
async function handOut() {
  const { room, tries, due } = form.elements;
  const body = { yaml: text.value, ...(tries.value && { tries: tries.valueAsNumber }), ...(due.value && { due: new Date(due.value).toISOString() }) };
  try {
    await ofServer(`/classes/${room.value}/tasks`, body);
    leaveFor(`/classes/${room.value}/`);
  } catch (error) {
    result.replaceChildren(await alert(error));
  }
}

text.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(check, QUIET_MS);
});
form.addEventListener("submit", (event) => event.preventDefault());
for (const button of form.querySelectorAll("[data-run]")) button.addEventListener("click", () => run(button.dataset.run));
document.getElementById("save").addEventListener("click", save);
document.getElementById("hand-out")?.addEventListener("click", handOut);
check();
