/**
 * An exercise: its hints, and attempts at it.
 *
 *     form -> POST /api/exercises/NAME/attempts -> a job -> its result: points, or what was not reached under which seed
 *     of a student: POST /api/me/hand-ins -> a hand-in -> its grade; hints and tries are counted by the server
 */
import { api, send } from "../net/api.js";
import { localTimes } from "../people/times.js";
import { remember, remembered } from "./remembered.js";
import { alert, element, ended, facts, filled, judged, language, verdict, words } from "./work.js";

const { name, student } = facts;
const form = document.getElementById("form");
const result = document.getElementById("result");

// -- hints --------------------------------------------------------------------------------
function tellHints(texts) {
  document.getElementById("hints").replaceChildren(...texts.map((text) => element("li", { text: text[language] })));
  const next = facts.hints[texts.length];
  const button = document.getElementById("hint");
  button.hidden = next === undefined;
  button.textContent = filled(words.next_hint, { n: next });
}

async function showHints(count) {
  const { hints } = await api(`/exercises/${name}?hints=${count}`);
  tellHints(hints.filter((one) => one.text).map((one) => one.text));
}

async function takeHint() {
  if (student) {
    tellHints((await api("/me/hints", { exercise: name })).hints);
    return;
  }
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

async function handIn(begin) {
  result.replaceChildren(element("p", { class: "soft", text: words.judging }));
  try {
    const handed = await judged(await begin(), form);
    const left = document.getElementById("left");
    if (left && handed.state !== "failed") left.textContent = String(Math.max(0, Number(left.textContent) - 1));
    result.replaceChildren(await verdict({ result: handed.grade, error: handed.error }));
  } catch (error) {
    result.replaceChildren(await alert(error));
  }
}

async function tryIt() {
  if (student) {
    const { set, steps } = attempt();
    await handIn(() => api("/me/hand-ins", { exercise: name, set, steps }));
    return;
  }
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
  if (student) tellHints(student.hints);
  else if (document.getElementById("try").disabled) document.getElementById("hint").hidden = true;
  else showHints(remembered(name).hints);
}
document.getElementById("pack")?.addEventListener("change", (event) => {
  const [file] = event.target.files;
  if (file) handIn(() => send(`/me/packs/${name}`, file, "application/gzip"));
  event.target.value = "";
});
localTimes();
