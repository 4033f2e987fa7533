/** What the pages of exercises share: elements, sentences of problems, a job until it has ended, a grade in words. */
import { api, base } from "../net/api.js";
import { told } from "../i18n/format.js";
import { sentence } from "../i18n/problems.js";
import { inLocalTime } from "../people/times.js";

const SEEDS_SHOWN = 5;

export const facts = JSON.parse(document.getElementById("facts").textContent);
export const { language, words } = facts;

export function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

/** A text with its parameters in place of `{n}`. */
export const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);

/** The sentences of problems, in the language of the page; fetched when there is one to tell. */
let catalogue = null;
async function sentences() {
  if (catalogue === null) {
    const found = await (await fetch(`${base}/messages/${language}.json`)).json();
    catalogue = { ...found.page, problems: found.problems };
  }
  return catalogue;
}

/** What is wrong, at its place, in the reader's language where it is a problem. What is right and comes at the wrong time (409) has
 * no place. */
export async function refusal(error) {
  const text = error.problem ? sentence(told(inLocalTime(error.problem, language), await sentences())) : error.message ?? error.title;
  const line = error.line ? `${filled(words.line, { n: error.line })}: ` : "";
  return line + (error.problem && error.place && error.status !== 409 ? `${error.place}: ` : "") + text;
}

/** What the form shows while something is under way: how far it has come, and no second start. */
function shown(form, cancel) {
  const bar = form.querySelector("progress");
  const give = form.querySelector(".cancel");
  give.onclick = cancel ?? null;
  const show = (busy) => {
    for (const button of form.querySelectorAll("button.starts")) button.disabled = busy;
    bar.hidden = !busy;
    give.hidden = !busy || !cancel;
  };
  const come = (progress) => {
    if (progress) bar.value = progress;
    else bar.removeAttribute("value");
  };
  return { show, come };
}

async function until(first, again, form, cancel) {
  const { show, come } = shown(form, cancel);
  show(true);
  try {
    let now = first;
    while (now.state === "queued" || now.state === "running") {
      come(now.progress);
      now = await again();
    }
    return now;
  } finally {
    show(false);
  }
}

/** The job when it has ended; the form shows how far it has come. */
export function ended(job, form) {
  return until(job, () => api(`/jobs/${job.id}?wait=1`), form, () => api(`/jobs/${job.id}`, undefined, "DELETE"));
}

/** The hand-in when it was judged. */
export function judged(handed, form) {
  return until(handed, () => api(`/me/hand-ins/${handed.id}?wait=5`), form);
}

/** Why a hand-in was not even looked at: forged, of something else, or nothing that could be judged. */
async function refused(grade, error) {
  const texts = await sentences();
  const forged = grade && !grade.refused.some((one) => one.code === "not_this_exercise");
  const whys = grade ? grade.refused : [error.problem];
  const lines = whys.slice(0, SEEDS_SHOWN).map((what) => element("li", { text: sentence(told(what, texts)) }));
  const head = element("strong", { text: forged ? words.forged : words.refused });
  return element("div", { class: "verdict missed" }, head, element("ul", {}, ...lines));
}

/** The way to the run of the first seed: to the moment that decided, where the exercise names one and it has come. */
function look(run, moment) {
  if (!moment) return element("a", { href: `${base}/#run=${run}`, text: words.look });
  const text = filled(words.look_at, { s: (moment.t_us / 1e6).toFixed(3) });
  return element("a", { href: `${base}/#run=${run}/${moment.t_us}`, text });
}

/** Whether the goals were reached; if not, under which seeds not; if so, why it is so. */
export async function verdict({ result: grade, run, error }) {
  if (!grade || grade.refused.length) return refused(grade, error);
  const open = run ? [element("p", {}, look(run, grade.seeds[0].moment))] : [];
  if (grade.passed) {
    const head = element("strong", { text: `✓ ${words.reached}: ${filled(words.points_of, { n: grade.points, most: grade.most })}` });
    return element("div", { class: "verdict reached" }, head, element("p", { text: (grade.why[language] ?? "").trim() }), ...open);
  }
  const failed = grade.seeds.filter((one) => !one.passed);
  const texts = await sentences();
  const lines = failed.slice(0, SEEDS_SHOWN).flatMap((one) => one.unmet.map((what) =>
    element("li", { text: `${words.seed} ${one.seed}: ${sentence(told(what, texts))}` })));
  const head = element("strong", { text: `${words.missed} (${failed.length} / ${grade.seeds.length})` });
  return element("div", { class: "verdict missed" }, head, element("ul", {}, ...lines), ...open);
}

export async function alert(error) {
  return element("p", { class: "verdict missed", role: "alert", text: await refusal(error) });
}
