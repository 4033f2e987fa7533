/**
 * An exercise: its hints, and attempts at it.
 *
 *     form -> POST /api/exercises/NAME/attempts -> a job -> its result: points, or what was not reached under which seed
 */
import { api } from "../net/api.js";
import { remember, remembered } from "./remembered.js";
import { alert, element, ended, facts, language, verdict, words } from "./work.js";

const { name } = facts;
const form = document.getElementById("form");
const result = document.getElementById("result");

// -- hints --------------------------------------------------------------------------------
async function showHints(count) {
  const { hints } = await api(`/exercises/${name}?hints=${count}`);
  document.getElementById("hints").replaceChildren(...hints.filter((one) => one.text).map((one) => element("li", { text: one.text[language] })));
  const next = facts.hints[count];
  const button = document.getElementById("hint");
  button.hidden = next === undefined;
  button.textContent = `${words.next_hint} (−${next} ${words.points})`;
}

async function takeHint() {
  const hints = remembered(name).hints + 1;
  remember(name, { hints });
  await showHints(hints);
}

// -- an attempt ---------------------------------------------------------------------------
function attempt() {
  const given = new FormData(form);
  const set = {};
  for (const [key, value] of given) if (key.startsWith("set.") && value !== "") set[key.slice(4)] = value;
  return { set, steps: given.get("steps") ?? "", hints: remembered(name).hints };
}

async function tryIt() {
  result.replaceChildren();
  try {
    const job = await ended(await api(`/exercises/${name}/attempts`, attempt()), form);
    if (job.error) throw job.error;
    if (job.state !== "done") return;
    remember(name, { tries: remembered(name).tries + 1, points: job.result.points });
    result.replaceChildren(await verdict(job));
  } catch (error) {
    result.replaceChildren(await alert(error));
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  tryIt();
});
for (const button of document.querySelectorAll("[data-add]")) {
  button.addEventListener("click", () => {
    const { steps } = form.elements;
    steps.value += (steps.value && !steps.value.endsWith("\n") ? "\n" : "") + facts.samples[button.dataset.add] + "\n";
    steps.focus();
  });
}
if (facts.hints.length) {
  document.getElementById("hint").addEventListener("click", takeHint);
  showHints(remembered(name).hints);
}
