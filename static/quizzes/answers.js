/**
 * What is asked in a form of `question.html`, and what became of the answer.
 *
 *     form -> answerOf(form) -> POST /api/quizzes/answers (or a poll) -> graded -> shown below the form
 */
export function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

/** The answer in the form in which REST takes it. */
export function answerOf(form) {
  const { way } = form.dataset;
  if (way === "order") return [...form.querySelectorAll(".order li")].map((item) => Number(item.dataset.index));
  const given = new FormData(form).get("answer") ?? "";
  return way === "setting" ? given : Number(given);
}

/** An answer as somebody reads it. */
export function answerText(form, answer, words) {
  const { way } = form.dataset;
  if (way === "choices") return form.querySelectorAll(".option span")[answer].textContent;
  if (way === "broker") return answer < 0 ? words.nobody : `${words.broker} ${answer}`;
  return String(answer);
}

function rightOne(form, graded, words) {
  if (form.dataset.way !== "order") {
    return element("p", {}, `${words.right_answer} `, element("strong", { text: answerText(form, graded.answer, words) }));
  }
  const items = [...form.querySelectorAll(".order li")];
  const texts = new Map(items.map((item) => [Number(item.dataset.index), item.querySelector("span").textContent]));
  const lines = graded.answer.map((index) => element("li", { text: texts.get(index) }));
  return element("div", {}, element("p", { text: words.right_answer }), element("ol", {}, ...lines));
}

/** A moment of virtual time: 5.618 s. */
export const moment = (micros) => `${(micros / 1e6).toFixed(3)} s`;

function proofOf({ proof }, { words, base }) {
  const text = `${words.proof} ${moment(proof.t_us)} · ${proof.node}`;
  if (base === null) return element("p", { class: "soft", text: `${text} · ${words.no_lab}` });
  return element("p", {}, element("a", { class: "proof", href: `${base}/${proof.open}`, text }));
}

const SIGNS = { right: "✓", near: "≈", wrong: "▲" };

/** The grade, the right answer where it was another one, why it is so, and the moment of the run that shows it. */
export function showGraded(form, graded, facts) {
  const { words, language } = facts;
  const place = form.querySelector(".graded");
  place.className = `graded ${graded.grade}`;
  place.replaceChildren(
    element("strong", { text: `${SIGNS[graded.grade]} ${words[graded.grade]}` }),
    ...(graded.grade === "right" ? [] : [rightOne(form, graded, words)]),
    element("p", { text: (graded.why[language] ?? "").trim() }),
    proofOf(graded, facts));
}

/** The arrows of what is to be put in order. */
export function movable(root) {
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move]");
    if (!button) return;
    const item = button.closest("li");
    if (button.dataset.move === "-1") item.previousElementSibling?.before(item);
    else item.nextElementSibling?.after(item);
    button.focus();
  });
}
