/**
 * An exercise: its hints, and attempts at it.
 *
 *     form -> POST /api/exercises/NAME/attempts -> a job -> its result: points, or what was not reached under which seed
 */
import { api } from "../net/api.js";
import { told } from "../i18n/format.js";
import { sentence } from "../i18n/problems.js";
import { remember, remembered } from "./remembered.js";

const facts = JSON.parse(document.getElementById("facts").textContent);
const { name, words } = facts;
const form = document.getElementById("form");
const result = document.getElementById("result");
const SEEDS_SHOWN = 5;

function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

/** The sentences of problems, in the language of the page; fetched when there is one to tell. */
let catalogue = null;
async function sentences() {
  if (catalogue === null) {
    const found = await (await fetch(`/messages/${facts.language}.json`)).json();
    catalogue = { ...found.page, problems: found.problems };
  }
  return catalogue;
}

const said = (problem, texts) => sentence(told(problem, texts));

// -- hints --------------------------------------------------------------------------------
async function showHints(count) {
  const { hints } = await api(`/exercises/${name}?hints=${count}`);
  document.getElementById("hints").replaceChildren(...hints.filter((one) => one.text).map((one) => element("li", { text: one.text[facts.language] })));
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

function busy(job) {
  document.getElementById("try").disabled = job !== null;
  const bar = document.getElementById("progress");
  bar.hidden = job === null;
  if (job?.progress) bar.value = job.progress;
  else bar.removeAttribute("value");
  const cancel = document.getElementById("cancel");
  cancel.hidden = job === null;
  cancel.onclick = job && (() => api(`/jobs/${job.id}`, undefined, "DELETE"));
}

async function tryIt() {
  result.replaceChildren();
  try {
    let job = await api(`/exercises/${name}/attempts`, attempt());
    while (job.state === "queued" || job.state === "running") {
      busy(job);
      job = await api(`/jobs/${job.id}?wait=1`);
    }
    if (job.state === "done") await show(job);
    else if (job.error) await refused(job.error);
  } catch (error) {
    await refused(error);
  } finally {
    busy(null);
  }
}

/** At its place, in the reader's language where it is a problem. */
async function refused(error) {
  const text = error.problem ? said(error.problem, await sentences()) : error.message ?? error.title;
  const place = error.problem && error.place ? `${error.place}: ` : "";
  result.replaceChildren(element("p", { class: "verdict missed", role: "alert", text: place + text }));
}

async function show({ result: grade, run }) {
  const tries = remembered(name).tries + 1;
  remember(name, { tries, points: grade.points });
  const open = element("p", {}, element("a", { href: `/#run=${run}`, text: words.look }));
  if (grade.passed) {
    const why = (grade.why[facts.language] ?? "").trim();
    const head = element("strong", { text: `✓ ${words.reached}: ${grade.points} / ${grade.most} ${words.points}` });
    result.replaceChildren(element("div", { class: "verdict reached" }, head, element("p", { text: why }), open));
    return;
  }
  const failed = grade.seeds.filter((one) => !one.passed);
  const texts = await sentences();
  const lines = failed.slice(0, SEEDS_SHOWN).flatMap((one) => one.unmet.map((what) => element("li", { text: `${words.seed} ${one.seed}: ${said(what, texts)}` })));
  const head = element("strong", { text: `${words.missed} (${failed.length} / ${grade.seeds.length})` });
  result.replaceChildren(element("div", { class: "verdict missed" }, head, element("ul", {}, ...lines), open));
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
