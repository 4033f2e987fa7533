/** What is refused or wrong, as a notice in the reader's language. */
import { told } from "./format.js";

/** As a sentence of a notice: it begins with a capital and ends with a full stop; a name at its beginning stays. */
export function sentence(text) {
  const begun = text.replace(/^[a-z]+(?=[ ,])/, (word) => word[0].toUpperCase() + word.slice(1));
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** A refusal as it came over the WebSocket: the problem, then the place if it names one that helps. */
export function refusal({ problem, place }, catalogue) {
  const text = problem ? sentence(told(problem, catalogue.words)) : "?";
  return place && /[.[]/.test(place) ? catalogue.t("refused.at", { text, place }) : text;
}
