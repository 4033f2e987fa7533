/** Texts that were written for documents: `names` stand in another type, and *stress* in bold, without their marks. */
import { h } from "./patch.js";

const MARKS = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^\s*][^*]*)\*/g;

/** A list of texts and elements; `plain` may make more of what has no marks. */
export function prose(text, plain = (part) => part) {
  const found = [];
  let from = 0;
  for (const one of String(text ?? "").matchAll(MARKS)) {
    found.push(plain(text.slice(from, one.index)), one[1] ? h("code", {}, one[1]) : h("b", {}, one[2] ?? one[3]));
    from = one.index + one[0].length;
  }
  return [...found, plain(String(text ?? "").slice(from))].filter((part) => part !== "");
}
