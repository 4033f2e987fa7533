/** What the pages of exercises share: elements, sentences of problems, a job until it has ended, a grade in words. */
import { api, base } from "../net/api.js";
import { told } from "../i18n/format.js";
import { sentence } from "../i18n/problems.js";

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

/** The sentences of problems, in the language of the page; fetched when there is one to tell. */
let catalogue = null;
async function sentences() {
  if (catalogue === null) {
    const found = await (await fetch(`${base}/messages/${language}.json`)).json();
    catalogue = { ...found.page, problems: found.problems };
  }
  return catalogue;
}

/** What is wrong, at its place, in the reader's language where it is a problem. */
export async function refusal(error) {
  const text = error.problem ? sentence(told(error.problem, await sentences())) : error.message ?? error.title;
  const line = error.line ? `${words.line} ${error.line}: ` : "";
  return line + (error.problem && error.place ? `${error.place}: ` : "") + text;
}

/** The job when it has ended; the form shows how far it has come. */
export async function ended(job, form) {
  const bar = form.querySelector("progress");
  const cancel = form.querySelector(".cancel");
  const starters = form.querySelectorAll("button.starts");
  const show = (busy) => {
    for (const button of starters) button.disabled = busy;
    bar.hidden = cancel.hidden = !busy;
  };
  cancel.onclick = () => api(`/jobs/${job.id}`, undefined, "DELETE");
  show(true);
  try {
    let now = job;
    while (now.state === "queued" || now.state === "running") {
      if (now.progress) bar.value = now.progress;
      else bar.removeAttribute("value");
      now = await api(`/jobs/${job.id}?wait=1`);
    }
    return now;
  } finally {
    show(false);
  }
}

/** Whether the goals were reached; if not, under which seeds not; if so, why it is so. */
export async function verdict({ result: grade, run }) {
  const open = element("p", {}, element("a", { href: `/#run=${run}`, text: words.look }));
  if (grade.passed) {
    const head = element("strong", { text: `✓ ${words.reached}: ${grade.points} / ${grade.most} ${words.points}` });
    return element("div", { class: "verdict reached" }, head, element("p", { text: (grade.why[language] ?? "").trim() }), open);
  }
  const failed = grade.seeds.filter((one) => !one.passed);
  const texts = await sentences();
  const lines = failed.slice(0, SEEDS_SHOWN).flatMap((one) => one.unmet.map((what) =>
    element("li", { text: `${words.seed} ${one.seed}: ${sentence(told(what, texts))}` })));
  const head = element("strong", { text: `${words.missed} (${failed.length} / ${grade.seeds.length})` });
  return element("div", { class: "verdict missed" }, head, element("ul", {}, ...lines), open);
}

export async function alert(error) {
  return element("p", { class: "verdict missed", role: "alert", text: await refusal(error) });
}
