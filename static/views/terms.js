/**
 * Terms as they stand in a text, and the card of the one that is asked for: its picture, its sentence, where to read on.
 *
 * A term is a button within its sentence: a click, a tap, Enter or Space open its card, which takes the focus; Escape, a
 * click beside it or its cross close it and give the focus back. A mouse that rests on a term sees the card as well.
 * Terms of texts that stand in the background (`reach: false`) can be clicked, but Tab passes them by.
 */
import { h, patch } from "./patch.js";

const REST_MS = 350; // until a resting mouse opens a card
const LEAVE_MS = 500; // for the way from the term to its card, over the rest of what it stands in
const GAP = 6;
const FAR = 130; // pixels: a card does not stand farther from its term

/** A text with its terms marked; each once. */
export function marked(words, text, { reach = true } = {}) {
  return words.terms.split(text).map((part) => (typeof part === "string" ? part : mark(part, reach)));
}

function mark({ id, text }, reach = true) {
  return h("span", { class: "term", role: "button", tabindex: reach ? "0" : "-1", "data-term": id, "aria-haspopup": "dialog" }, text);
}

/** The terms of a sentence that is a button itself, for the line below it; without those that `beside` has marked. */
export function termsOf(words, sentence, beside = "") {
  const told = new Set(words.terms.split(beside).map(({ id }) => id));
  return words.terms.split(sentence).filter((part) => part.id && !told.has(part.id)).map((part) => mark({ ...part, text: words.terms.get(part.id).name }));
}

function card(words, id, acts) {
  const { name, text, only, see, lessons } = words.terms.get(id);
  const others = see.map((other) => words.terms.get(other));
  return [
    h("img", { key: `picture-${id}`, src: `/glossary/${id}.svg`, alt: "", width: 200, height: 88 }),
    h("div", { key: "head", class: "panel-head" }, h("h2", { id: "term-name" }, name),
      h("button", { type: "button", class: "round", "data-term-close": "", "aria-label": words.t("close"), onclick: acts.close }, "×")),
    h("p", { key: "text", id: "term-text" }, text),
    only && h("p", { key: "only", class: "hint", "data-only": only }, words.t(`only_${only}`)),
    h("p", { key: "see", class: "term-see" },
      others.map((other) => h("button", {
        key: other.id, type: "button", class: "chip", "data-see": other.id, onclick: () => acts.show(other.id)
      }, other.name))),
    h("p", { key: "more", class: "term-more" },
      lessons.length > 0 && h("a", { key: "lesson", href: `#lesson=${lessons[0]}`, onclick: acts.close }, words.t("glossary.lesson")),
      h("a", { key: "page", href: `/glossary/#${id}`, target: "_blank", rel: "noopener" }, words.t("glossary"))),
  ];
}

/** Where the text stands that a term is in. */
function textOf(term) {
  let block = term.parentElement;
  while (getComputedStyle(block).display === "inline") block = block.parentElement;
  return block.getBoundingClientRect();
}

export class TermCard {
  constructor(app, box) {
    Object.assign(this, { app, box });
    this.anchor = null; // the term whose card is open
    this.pinned = false; // opened by a click or a key, not by a mouse that passed
    this.timer = 0;
    this.close = this.close.bind(this);
    document.addEventListener("click", (event) => this.#click(event));
    document.addEventListener("keydown", (event) => this.#key(event), true);
    document.addEventListener("mouseover", (event) => this.#over(event));
    for (const moved of ["scroll", "resize"])
      addEventListener(moved, (event) => { if (this.anchor && event.target !== box) this.#place(); }, { capture: true, passive: true });
  }

  get open() {
    return this.anchor !== null;
  }

  #show(anchor, pinned) {
    if (this.anchor !== anchor) this.anchor?.removeAttribute("aria-expanded");
    Object.assign(this, { anchor, pinned });
    anchor.setAttribute("aria-expanded", "true");
    this.#fill(anchor.dataset.term);
    this.box.hidden = false;
    this.#place();
    if (pinned) this.box.focus({ preventScroll: true });
  }

  #fill(id) {
    patch(this.box, card(this.app.words, id, {
      close: this.close,
      show: (other) => {
        this.#fill(other);
        this.pinned = true;
        this.#place();
        this.box.focus({ preventScroll: true });
      },
    }));
  }

  /** Below what the term stands in, or above it, where there is room, so that it covers none of that; gone when the term is. */
  #place() {
    const [line] = this.anchor.getClientRects();
    if (!line || line.bottom < 0 || line.top > innerHeight) return this.close();
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = Math.max(GAP, Math.min(line.left, innerWidth - width - GAP));
    const fits = (top) => top >= GAP && top + height + GAP <= innerHeight;
    const text = textOf(this.anchor);
    const places = [
      ...(text.bottom - line.bottom <= FAR ? [text.bottom + GAP] : []), ...(line.top - text.top <= FAR ? [text.top - GAP - height] : []),
      line.bottom + GAP, line.top - GAP - height];
    const top = places.find(fits) ?? Math.min(line.bottom + GAP, innerHeight - height - GAP);
    this.box.style.setProperty("left", `${Math.round(left)}px`);
    this.box.style.setProperty("top", `${Math.round(Math.max(GAP, top))}px`);
  }

  close() {
    const { anchor } = this;
    if (!anchor) return;
    const back = this.box.contains(document.activeElement);
    anchor.removeAttribute("aria-expanded");
    this.anchor = null;
    this.box.hidden = true;
    if (back && anchor.isConnected) anchor.focus({ preventScroll: true });
  }

  #click({ target }) {
    const term = target.closest?.("[data-term]");
    if (term) this.#show(term, true);
    else if (this.open && !this.box.contains(target) && target.isConnected) this.close();
  }

  #key(event) {
    const term = event.target.closest?.("[data-term]");
    if (event.key === "Escape" && this.open) this.close();
    else if (term && (event.key === "Enter" || event.key === " ")) this.#show(term, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #over({ target }) {
    const term = target.closest?.("[data-term]");
    clearTimeout(this.timer);
    if (term && term !== this.anchor) this.timer = setTimeout(() => { if (!this.pinned || !this.open) this.#show(term, false); }, REST_MS);
    else if (!term && this.open && !this.pinned && !this.box.contains(target)) this.timer = setTimeout(this.close, LEAVE_MS);
  }
}
