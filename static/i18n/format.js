/**
 * A sentence with holes -> text.
 *
 *     {topic}            the parameter as it is
 *     {isr|set}          through a filter: {1, 2}
 *     {n|plural|is|are}  the first form beside one, the second beside any other number
 *     {이/가}            the Korean particle that fits the sound of what stands before it
 *
 * A problem is a code with parameters; its sentence stands in the one catalogue that the server tells it from, too
 * (`broker_core/kernel/problems`). A parameter may be a problem itself, and is told in its place:
 *
 *     {code: "no_leader", params: {partition: "orders-0"}} -> orders-0에 리더가 없습니다
 *
 * Filters get (value, words, parameters, forms); `words` is the page catalogue of the language, and has the sentences of
 * `problems` beside its texts.
 */
import { particle } from "./particles.js";
import { OPERATOR, neighbourOf, partsOf } from "../model/names.js";

const HOLE = /\{([^{}]+)\}/g;

/** Virtual microseconds as seconds: 9178000 -> "9.178". */
export function seconds(t) {
  return (Math.max(0, t) / 1e6).toFixed(3);
}

const WHOLE = new Intl.NumberFormat("en-US"); // made once: the page asks thousands of times a second

export function count(value) {
  return WHOLE.format(Number(value));
}

function node(value, words) {
  const name = String(value ?? "?");
  const neighbour = neighbourOf(name);
  if (neighbour) return `${neighbour[0]} / ${node(neighbour[1], words)}`;
  const parts = partsOf(name);
  if (parts) return `${words[`noun.${parts[0]}`]} ${parts[1]}`;
  if (/^\d+$/.test(name)) return `${words["noun.connection"]} ${name}`;
  const client = /^(producer|consumer|processor|worker)-(.+)$/.exec(name);
  if (client) return `${words[`noun.${client[1]}`]} ${client[2]}`;
  if (name === OPERATOR) return words["noun.operator"];
  return name === "world" ? words["noun.world"] : name;
}

function millis(value, words) {
  const number = Number(value);
  return number >= 1000 ? `${number / 1000}${words["unit.s"]}` : `${number}${words["unit.ms"]}`;
}

const TIMES = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000]];

/** How wrong a clock is: 3600000 -> "+1 h", -1500 -> "−1.5 s". */
export function skew(ms, words) {
  const size = Math.abs(ms);
  const [unit, long] = TIMES.find(([, least]) => size >= least) ?? ["ms", 1];
  return `${ms < 0 ? "−" : "+"}${Number((size / long).toPrecision(3))}${words[`unit.${unit}`]}`;
}

/** What a link does to what it carries, each with its figure: "delay 100 ms, loss 30 %". */
function linkText({ delay_us, jitter_us, drop, duplicate, reorder, bandwidth }, words) {
  const percent = (share) => `${Math.round(100 * share)} %`;
  const told = [
    delay_us > 0 && ["delay", millis(delay_us / 1000, words)], jitter_us > 0 && ["jitter", millis(jitter_us / 1000, words)],
    drop > 0 && ["drop", percent(drop)], duplicate > 0 && ["duplicate", percent(duplicate)], reorder > 0 && ["reorder", percent(reorder)],
    bandwidth > 0 && ["bandwidth", `${Number((bandwidth / 1000).toPrecision(3))} kB/s`],
  ];
  return told.filter(Boolean).map(([what, figure]) => `${words[`link.${what}`]} ${figure}`).join(", ") || words["link.fine"];
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
  member: (value) => String(value ?? "").replace(/-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, ""), // of a group, without its random part
  plural: (value, words, params, [one, many]) => (Number(value) === 1 ? one : many),
  ms: millis,
  us: (value, words) => millis(Number(value) / 1000, words),
  percent: (value) => `${Math.round(Number(value) * 100)} %`,
  link: (value, words, params) => linkText(params, words),
  through: (value, words, params, [last]) => (Number(params[last]) > Number(value) ? `${value}–${params[last]}` : String(value)), // of offsets
  owner: (value, words) => (value === "<default>" ? words["noun.all_brokers"] : String(value)), // of a setting
  setting: (value, words) => (value === null || value === undefined ? words["noun.default"] : String(value)),
  disks: (value, words) => list(value).map(({ kind, directory }) => (words[`disk.${kind}`] ?? kind)
    + (directory ? ` (${directory})` : "")).join(", ") || words["disk.healthy"],
  switch: (value, words) => words[value ? "switch.on" : "switch.off"],
  reason: (value, words) => words[`reason.${value}`]
    ?? String(value ?? "").split(": ").map((part) => words[`reason.${part}`] ?? spelled(part, words)).join(": "),
  problem: told,
  quoted: (value, words) => quoted(plain(value, words)),
  word: (value, words) => words.problems?.[`word.${value}`] ?? String(value),
  placed: (value) => (value && typeof value === "object"
    ? Object.entries(value).map(([topic, partitions]) => `${topic} [${list(partitions).join(", ")}]`).join("; ")
    : ""),
  counts: (value) => Object.entries(value ?? {}).map(([code, number]) => `${code} × ${count(number)}`).join(", "),
  kind: (value, words) => words[`noun.${value}`] ?? String(value), // of a client
  command: (value, words) => commandText(value, words),
};

/** What was done to a file, as a disk tells it ("append data/a/orders-0/0.log"), and why an unanswered request ended its connection
 * ("acks=0 and CORRUPT_MESSAGE for orders-0"). Any other part of a reason stays as it is. */
function spelled(part, words) {
  const [, operation, path] = part.match(/^([a-z]+) (\S+)$/) ?? [];
  if (words[`operation.${operation}`]) return format(words[`operation.${operation}`], { path }, words);
  const [, error, partition] = part.match(/^acks=0 and ([A-Z_]+) for (\S+)$/) ?? [];
  return error ? format(words["reason.unanswered"], { error, partition }, words) : part;
}

/** Who is meant by a role (`leader_of: orders-0`), or by one end of a link (`2`, `broker-2`, `leader_of:orders-0`). */
function who(role, partition, words) {
  return format(words[`who.${role}`], { partition }, words);
}

function endOf(end, words) {
  const [role, partition] = String(end).split(":");
  if (partition && words[`who.${role}`]) return who(role, partition, words);
  return typeof end === "number" ? `${words["noun.broker"]} ${end}` : node(end, words);
}

const numbered = (value) => (/^\d+$/.test(String(value)) ? "broker" : String(value)); // where something goes: to broker 2, to the end

/** What stands under one key of a command. A switch that is off says nothing; a key that has no words stands as it is. */
function argumentText(key, value, words) {
  if (value === false) return null;
  const form = key === "to" ? `to.${numbered(value)}` : value === null ? `${key}.none` : key;
  const text = words[`arg.${form}`];
  if (text === undefined) return Array.isArray(value) ? `${key} ${value.join(" – ")}` : `${key}=${value}`;
  const shown = Array.isArray(value) ? value.map((one) => (Array.isArray(one) ? FILTERS.set(one) : one)).join(", ") : value;
  return format(text, { value: shown }, words);
}

/** A command object in one phrase: the verb in words, then what it is about. */
export function commandText(command, words) {
  if (!command || typeof command !== "object") return String(command ?? "");
  const { do: verb, ...rest } = command;
  const name = words[verb === "clock_skew" && rest.ms === 0 ? "do.clock_right" : `do.${verb}`] ?? verb;
  const about = Object.entries(rest).flatMap(([key, value]) => {
    if (key === "broker") return `${words["noun.broker"]} ${value}`;
    if (key === "controller" && typeof value === "number") return `${words["noun.controller"]} ${value}`;
    if (key === "node") return endOf(value, words);
    if (key === "ms" && verb === "clock_skew") return value ? skew(value, words) : null;
    if (verb === "set_clocks") return key === "forward_ms" ? skew(value, words) : words["why.outside"];
    if (key === "topic" || key === "name") return String(value);
    if (key === "between" && Array.isArray(value)) return value.map((end) => endOf(end, words)).join(" – ");
    if (words[`who.${key}`]) return who(key, value, words);
    if (key === "headers") return argumentText(key, Object.entries(value).map(([one, content]) => `${one}=${content}`).join(", "), words);
    if (verb === "set_protection") return Object.entries(value).map(([one, on]) => `${one} ${FILTERS.switch(on, words)}`);
    if (verb === "set_stage_costs") return Object.entries(value).map(([stage, cost]) => argumentText(stage, cost, words));
    if (value === null || Array.isArray(value) || typeof value !== "object") return argumentText(key, value, words);
    return Object.entries(value).map(([one, content]) => `${one}=${content ?? words["noun.default"]}`);
  }).filter((text) => text !== null);
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
    text += filter ? FILTERS[filter](value, words, params, forms) : plain(value ?? "?", words);
  }
  return text + template.slice(from);
}

const isProblem = (value) => Boolean(value && typeof value === "object" && "code" in value && "params" in value);

/** A parameter as text, as JSON writes its words. */
export function plain(value, words) {
  if (isProblem(value)) return told(value, words);
  return Array.isArray(value) ? value.map((one) => plain(one, words)).join(", ") : String(value ?? null);
}

/** In single quotes, or in double ones when it has single ones itself. */
export function quoted(text) {
  const inner = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
  return inner.includes("'") && !inner.includes('"') ? `"${inner}"` : `'${inner.replaceAll("'", "\\'")}'`;
}

/** The sentence; a code that the page does not know is shown with its parameters. `words`: the table of a catalogue. */
export function told(problem, words) {
  const { code, params } = problem;
  const template = words.problems?.[code];
  if (template === undefined) return Object.keys(params).length ? `${code} ${JSON.stringify(params)}` : code;
  const shown = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value ?? "null"]));
  return format(template, shown, words);
}
