/**
 * A sentence with holes -> text.
 *
 *     {topic}            the parameter as it is
 *     {isr|set}          through a filter: {1, 2}
 *     {n|plural|is|are}  the first form beside one, the second beside any other number
 *     {이/가}            the Korean particle that fits the sound of what stands before it
 *
 * Filters get (value, words, parameters, forms); `words` is the page catalogue of the language, and has the patterns of
 * `refusals` beside its texts.
 */
import { known, told } from "../model/refusals.js";
import { particle } from "./particles.js";

const HOLE = /\{([^{}]+)\}/g;

/** Virtual microseconds as seconds: 9178000 -> "9.178". */
export function seconds(t) {
  return (Math.max(0, t) / 1e6).toFixed(3);
}

export function count(value) {
  return Number(value).toLocaleString("en-US");
}

function node(value, words) {
  const name = String(value ?? "?");
  const broker = /^broker-(\d+)$/.exec(name);
  if (broker) return `${words["noun.broker"]} ${broker[1]}`;
  if (/^\d+$/.test(name)) return `${words["noun.connection"]} ${name}`;
  const server = /^zookeeper-(\d+)$/.exec(name);
  if (server) return `${words["noun.zookeeper"]} ${server[1]}`;
  const client = /^(producer|consumer)-(.+)$/.exec(name);
  if (client) return `${words[`noun.${client[1]}`]} ${client[2]}`;
  if (name === "operator") return words["noun.operator"];
  return name === "world" ? words["noun.world"] : name;
}

function millis(value) {
  const number = Number(value);
  return number >= 1000 ? `${number / 1000} s` : `${number} ms`;
}

const list = (value) => (Array.isArray(value) ? value : value === null || value === undefined ? [] : [value]);

export const FILTERS = {
  node,
  broker: (value, words) => (Number(value) < 0 || value === null || value === undefined ? words["noun.nobody"] : `${words["noun.broker"]} ${value}`),
  brokers: (value, words) => list(value).map((id) => `${words["noun.broker"]} ${id}`).join(", ") || words["noun.nobody"],
  set: (value) => `{${list(value).join(", ")}}`,
  list: (value) => list(value).join(", "),
  awaited: (value, words) => list(value).map((key) => String(key).replace(/^session (?=\d+$)/, `${words["noun.fetch_session"]} `)).join(", "),
  count,
  plural: (value, words, params, [one, many]) => (Number(value) === 1 ? one : many),
  ms: millis,
  us: (value) => millis(Number(value) / 1000),
  percent: (value) => `${Math.round(Number(value) * 100)} %`,
  setting: (value, words) => (value === null || value === undefined ? words["noun.default"] : String(value)),
  // A known reason in the reader's language; an unknown one stays as the journal has it.
  disks: (value, words) => list(value).map(({ kind, directory }) => (words[`disk.${kind}`] ?? kind) + (directory ? ` (${directory})` : "")).join(", ") || words["disk.healthy"],
  switch: (value, words) => words[value ? "switch.on" : "switch.off"],
  reason: (value, words) => words[`reason.${value}`] ?? String(value ?? "").split(": ").map((part) => words[`reason.${part}`] ?? part).join(": "),
  refusal: (value, words) => {
    const found = known(value);
    const text = found ? format(words[found.key], found.params, words) : told(String(value ?? ""), words.refusals);
    return text === null ? FILTERS.reason(value, words) : text.replace(/\.$/, "");
  },
  placed: (value) => (value && typeof value === "object" ? Object.entries(value).map(([topic, partitions]) => `${topic} [${list(partitions).join(", ")}]`).join("; ") : ""),
  counts: (value) => Object.entries(value ?? {}).map(([code, number]) => `${code} × ${count(number)}`).join(", "),
  command: (value, words) => commandText(value, words),
};

/** Who is meant by a role (`leader_of: orders-0`), or by one end of a link (`2`, `broker-2`, `leader_of:orders-0`). */
function who(role, partition, words) {
  return format(words[`who.${role}`], { partition }, words);
}

function endOf(end, words) {
  const [role, partition] = String(end).split(":");
  if (partition && words[`who.${role}`]) return who(role, partition, words);
  return typeof end === "number" ? `${words["noun.broker"]} ${end}` : node(end, words);
}

/** A command object in one phrase: the verb in words, then what it is about. */
export function commandText(command, words) {
  if (!command || typeof command !== "object") return String(command ?? "");
  const { do: verb, ...rest } = command;
  const name = words[`do.${verb}`] ?? verb;
  const about = Object.entries(rest).map(([key, value]) => {
    if (key === "broker") return `${words["noun.broker"]} ${value}`;
    if (key === "topic" || key === "name" || key === "node") return String(value);
    if (key === "between" && Array.isArray(value)) return value.map((end) => endOf(end, words)).join(" – ");
    if (words[`who.${key}`]) return who(key, value, words);
    if (Array.isArray(value)) return `${key} ${value.join(" – ")}`;
    if (value !== null && typeof value === "object") return Object.entries(value).map(([name, one]) => `${name}=${one ?? words["noun.default"]}`).join(", ");
    return `${key}=${value}`;
  });
  return about.length ? `${name}: ${about.join(", ")}` : name;
}

/** The sentence `template` with its holes filled from `params`. */
export function format(template, params, words) {
  let text = "";
  let from = 0;
  for (const found of template.matchAll(HOLE)) {
    text += template.slice(from, found.index);
    from = found.index + found[0].length;
    const inside = found[1];
    if (/^[가-힣]+\/[가-힣]*$/.test(inside)) {
      text += particle(text, inside);
      continue;
    }
    const [name, filter, ...forms] = inside.split("|");
    const value = params[name];
    text += filter ? FILTERS[filter](value, words, params, forms) : String(value ?? "?");
  }
  return text + template.slice(from);
}
