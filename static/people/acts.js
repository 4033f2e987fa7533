/**
 * What is done on a page about people, as its elements say:
 *
 *     data-post="/classes"  data-body='{"open": false}'  data-then="/classes/{code}/"   a button or a form
 *     <select name="cluster.era">     what a form is to say of a part of its body
 *     data-delete="/classes/ABCD2345"  data-sure="Really?"
 *     data-tell="Password: {password}"     what the answer says, shown once
 *     data-job="/#run={run}"     the answer is a job: go there when it has ended
 */
import { api } from "../net/api.js";
import { leaveFor } from "./leave.js";

const wrong = document.getElementById("wrong");

function say(text) {
  if (!wrong) return;
  wrong.textContent = text;
  wrong.hidden = !text;
}

function show(text) {
  const place = document.getElementById("told");
  place.textContent = decodeURIComponent(text);
  place.hidden = false;
}

const filled = (address, answer) => address.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(answer?.[key] ?? ""));

/** The values of a form: numbers as numbers, moments with their zone, nothing for what is empty. */
function bodyOf(form) {
  const found = {};
  for (const field of form.elements) {
    if (!field.name || field.value === "") continue;
    if (field.type === "select-multiple") found[field.name] = Array.from(field.selectedOptions, ({ value }) => Number(value));
    else if (field.type === "number") found[field.name] = Number(field.value);
    else if (field.type === "datetime-local") found[field.name] = new Date(field.value).toISOString();
    else if (field.name.includes(".")) {
      const [part, key] = field.name.split(".");
      found[part] = { ...found[part], [key]: field.value };
    }
    else found[field.name] = field.value;
  }
  return found;
}

async function ended(job, bar) {
  let now = job;
  if (bar) bar.hidden = false;
  while (now.state === "queued" || now.state === "running") {
    if (bar && now.progress) bar.value = now.progress;
    now = await api(`/jobs/${job.id}?wait=1`);
  }
  if (bar) bar.hidden = true;
  return now;
}

async function act(element, body) {
  const { post, delete: gone, sure, then, job, tell } = element.dataset;
  if (sure && !globalThis.confirm(sure)) return;
  const busy = element.matches("form") ? element.querySelector("button") : element;
  say("");
  busy.disabled = true;
  try {
    let answer = gone ? await api(gone, undefined, "DELETE") : await api(post, body);
    if (job) answer = await ended(answer, element.parentElement.querySelector("progress"));
    if (tell) show(filled(tell, answer));
    const next = job ?? then;
    if (next) leaveFor(filled(next, answer));
  } catch (error) {
    say(error.message);
  } finally {
    busy.disabled = false;
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-post], button[data-delete]");
  if (button) act(button, JSON.parse(button.dataset.body ?? "{}"));
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-post]");
  if (!form) return;
  event.preventDefault();
  act(form, { ...JSON.parse(form.dataset.body ?? "{}"), ...bodyOf(form) });
});
