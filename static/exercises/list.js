/** The list of exercises: which of them this browser has solved. */
import { remembered } from "./remembered.js";

for (const card of document.querySelectorAll("[data-exercise]")) {
  const { points, tries } = remembered(card.dataset.exercise);
  const done = card.querySelector(".done");
  card.classList.toggle("solved", points > 0);
  if (points > 0) done.textContent = `✓ ${done.dataset.solved} (${points})`;
  else if (tries) done.textContent = done.dataset.tried;
}
