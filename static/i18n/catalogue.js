/**
 * The texts of one language: labels by key, and for each journal event what it says and why.
 *
 * An entry of the story is {say, why, many?, why_by?}: `many` is the sentence for several events told
 * as one, `why_by` gives another reason by the value of a parameter:
 *
 * `node_kind` (broker, server, producer, consumer), `node_how` (consumer.shutdown) and `first_fault` (the kind of the first of `faults`, or none)
 * may stand for a parameter there.
 *
 *     "leader_elected": {"say": ..., "why": ..., "why_by": {"reason": {"unclean": ...}}}
 */
import { kindOf } from "../model/names.js";
import { format } from "./format.js";

/** English sentences begin with a capital; the name of a node may stand first. */
const capital = (text) => text.replace(/^(broker|connection|nobody|producer|consumer|world|operator)\b/, (word) => word[0].toUpperCase() + word.slice(1));

export class Catalogue {
  constructor({ language, page, story, refusals = {} }) {
    this.language = language;
    this.words = Object.defineProperty({ ...page }, "refusals", { value: refusals }); // beside the texts, not one of them
    this.story = story;
    this.kindOf = kindOf; // the page knows clients with any name
  }

  /** A label; parameters fill its holes. */
  t(key, params) {
    const text = this.words[key] ?? key;
    return params ? this.#begun(format(text, params, this.words)) : text;
  }

  /** The name of a node. */
  name(node) {
    return format("{node|node}", { node }, this.words);
  }

  /** A sentence for an event of the history, or for an item of the story (several like events). */
  say(event, many = null) {
    const entry = this.story[event.code];
    if (!entry) return `${event.code} ${JSON.stringify(event.params)}`;
    const params = { ...event.params, node: event.node, ...many };
    return this.#begun(format((many && entry.many) || entry.say, params, this.words));
  }

  /** Why it happened; "" when the sentence says it all. */
  why(event) {
    const entry = this.story[event.code];
    if (!entry) return "";
    let text = entry.why ?? "";
    const kind = this.kindOf(event.node);
    const params = { ...event.params, node: event.node, node_kind: kind, node_how: `${kind}.${event.params.how}`, first_fault: event.params.faults?.[0]?.kind ?? "none" };
    for (const [name, texts] of Object.entries(entry.why_by ?? {})) text = texts[params[name]] ?? text;
    return this.#begun(format(text, params, this.words));
  }

  /** As a sentence of this language begins. */
  #begun(text) {
    return this.language === "en" ? capital(text) : text;
  }
}
