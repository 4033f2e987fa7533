/** A page of questions: each answer is graded by the server at once. */
import { api } from "../net/api.js";
import { answerOf, movable, showGraded } from "./answers.js";

const facts = JSON.parse(document.getElementById("facts").textContent);

movable(document);
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form.question");
  if (!form) return;
  event.preventDefault();
  const place = form.querySelector(".graded");
  try {
    showGraded(form, await api("/quizzes/answers", { question: form.dataset.question, answer: answerOf(form) }), facts);
  } catch (error) {
    place.className = "graded wrong";
    place.textContent = error.message;
  }
});
