/**
 * The texts of one language: labels by key, and for each journal event what it says and why.
 *
 * An entry of the story is {say, why, many?, why_by?, say_by?, many_by?}: `many` is the sentence for several events told
 * as one, `why_by` gives another reason by the value of a parameter, `say_by` and `many_by` another sentence:
 *
 * `node_kind` (broker, server, producer, consumer), `node_how` (consumer.shutdown), `node_generation` (server.kraft)
 * and `first_fault` (the kind of the first of `faults`, or none)
 * may stand for a parameter there, as may `link_how` (cut, bad, fine or healed), `link_fault` (what is worst about it: cut,
 * drop, duplicate, reorder, bandwidth, late or healed) and `generation` ("zookeeper", "kraft").
 * A label whose words depend on the generation
 * of Kafka has another one beside it: `tour.election` and `tour.election.kraft`.
 *
 *     "leader_elected": {"say": ..., "why": ..., "why_by": {"reason": {"unclean": ...}}}
 */
import { kindOf } from "../model/names.js";
import { Terms } from "../model/terms.js";
import { format } from "./format.js";

/** English sentences begin with a capital; the name of a node may stand first. */
const FIRST = /^(all|broker|connection|controller|machine|nobody|producer|consumer|processor|worker|world|operator|topic)\b/;
const capital = (text) => text.replace(FIRST, (word) => word[0].toUpperCase() + word.slice(1));

/** The text that goes with a parameter's value, else `text`. */
function chosen(text, by, params) {
  let found = text;
  for (const [name, texts] of Object.entries(by ?? {})) found = texts[params[name]] ?? found;
  return found;
}

/** What a changed link does: nothing passes, something is wrong with it, all passes but late, or as usual in this cluster. */
function linkHow({ partitioned, drop, duplicate, reorder, bandwidth, jitter_us: jitter, delay_us: delay }, usual) {
  if (partitioned) return "cut";
  if (drop || duplicate || reorder || bandwidth || jitter) return "bad";
  return delay > usual ? "fine" : "healed";
}

/** What is worst about a changed link. */
function linkFault(link, usual) {
  if (link.partitioned) return "cut";
  const fault = ["drop", "duplicate", "reorder", "bandwidth"].find((one) => link[one]);
  return fault ?? (link.jitter_us || link.delay_us > usual ? "late" : "healed");
}

export class Catalogue {
  constructor({ language, page, story, problems = {}, terms = [] }) {
    this.language = language;
    this.terms = new Terms(terms, language); // the words of the glossary
    this.words = Object.defineProperty({ ...page }, "problems", { value: problems }); // beside the texts, not one of them
    this.story = story;
    this.kindOf = kindOf; // the page knows clients with any name
    this.generation = () => "zookeeper"; // the page knows which one it shows
    this.usualDelay = () => 0; // microseconds of a healthy link; the page knows the cluster's
  }

  /** A label; parameters fill its holes. */
  t(key, params) {
    const text = this.words[`${key}.${this.generation()}`] ?? this.words[key] ?? key;
    return params ? this.#begun(format(text, params, this.words)) : text;
  }

  /** A label that stands within a sentence. */
  part(key, params) {
    return format(this.words[key] ?? key, params, this.words);
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
    const several = many && entry.many;
    const text = chosen(several || entry.say, several ? entry.many_by : entry.say_by, { ...params, link_how: linkHow(params, this.usualDelay()) });
    return this.#begun(format(text, params, this.words));
  }

  /** As a cause of something else: a request in human words; its own sentence has the protocol's. */
  because(event) {
    const text = this.words[`because.${event.code}.${event.params.api}`];
    return text ? this.#begun(format(text, { ...event.params, node: event.node }, this.words)) : this.say(event);
  }

  /** Why it happened; "" when the sentence says it all. */
  why(event) {
    const entry = this.story[event.code];
    if (!entry) return "";
    const known = this.kindOf(event.node);
    const kind = known === "processor" ? "consumer" : known; // it reads as a member of a group
    const params = {
      ...event.params, node: event.node, node_kind: kind, node_how: `${kind}.${event.params.how}`,
      link_fault: linkFault(event.params, this.usualDelay()), node_generation: `${kind}.${this.generation()}`,
      first_fault: event.params.faults?.[0]?.kind ?? "none", generation: this.generation()
    };
    return this.#begun(format(chosen(entry.why ?? "", entry.why_by, params), params, this.words));
  }

  /** As a sentence of this language begins. */
  #begun(text) {
    return this.language === "en" ? capital(text) : text;
  }
}
