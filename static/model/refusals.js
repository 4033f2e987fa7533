/**
 * Why a command was refused, in the reader's language, where the reason is a known one.
 *
 * The server says it in English with the place (`set.min.insync.replicas`); what is known by its shape gets
 * the key of a sentence and its parameters; of everything else the server's own words are quoted, in Korean (`ko`)
 * where it knows them. The journal has the English reason alone: `told` translates it with the server's own patterns.
 */
const KNOWN = [
  [/^(\S+) is (stopped|paused|running) already$/, "already", ["node", "state"]],
  [/^(\S+) is stopped$/, "stopped", ["node"]],
  [/^(\S+) is paused$/, "paused", ["node"]],
  [/^(\S+) is not paused$/, "not_paused", ["node"]],
  [/^(\S+) is paused: it cannot shut down$/, "paused_shutdown", ["node"]],
  [/^there is no broker (\d+)/, "no_broker", ["broker"]],
  [/^broker (\d+) does not run$/, "broker_down", ["broker"]],
  [/^no broker runs$/, "none_runs", []],
  [/^broker (\d+) has no (?:running )?replica of (\S+?)$/, "no_replica", ["broker", "partition"]],
  [/^(\S+) on broker (\d+) has offsets (-?\d+) to (-?\d+), not (\d+)$/, "no_offset", ["partition", "broker", "from", "to", "offset"]],
  [/^(\S+) has no record (\d+) of (\S+)$/, "no_record", ["node", "offset", "partition"]],
  [/^there is no partition (\S+)$/, "no_partition", ["partition"]],
  [/^(\S+) has no leader$/, "no_leader", ["partition"]],
  [/^(\S+) has no follower$/, "no_follower", ["partition"]],
  [/^there is no controller$/, "no_controller", []],
  [/^there is no client (\S+?)[,:]/, "no_client", ["name"]],
  [/^there is no group (\S+)$/, "no_group", ["group"]],
  [/^(?:\w+: )?group (\S+) has members/, "group_has_members", ["group"]],
  [/^(?:\w+: )?group (\S+) has committed no offset of (\S+)$/, "never_committed", ["group", "partition"]],
  [/^there is no (?:node )?([^\s,]+)(?:,|$)/, "no_node", ["node"]],
  [/^there is no such link/, "no_link", []],
  [/^there is one broker only$/, "one_broker", []],
  [/^(\S+) has no session$/, "no_session", ["node"]],
  [/^the operator's process does not run$/, "no_operator", []],
  [/^expected at least one setting$/, "no_setting", []],
  [/^expected (?:a whole number|a number)/, "number", []],
  [/^(?:\w+: )?Cannot update these configs dynamically: Set\((\S+)\)$/, "read_only", ["name"]],
  [/^too many commands at once$/, "too_many", []],
  [/^the class's token is for looking only$/, "look_only", []],
  [/^run (\S+) has ended$/, "run_ended", ["run"]],
  [/^there is no open run (\S+?)[;,]/, "run_ended", ["run"]],
  [/^nothing is under way from (\S+) to (\S+)$/, "not_under_way", ["from", "to"]],
  [/^it never was under way/, "lost_message", []],
  [/^what this client sent is not in the recorded inputs$/, "not_recorded", []],
  [/disks that (?:the run|it) began with were too large to keep$/, "start_too_large", []],
  [/^speed is between/, "speed", []],
  [/^unknown command '(\w+)'/, "unknown", ["command"]],
];

/** {key, params} of a refusal, or null when its reason is not a known one. */
export function known(error) {
  for (const [pattern, key, names] of KNOWN) {
    const found = pattern.exec(error ?? "");
    if (found) return { key: `refused.${key}`, params: Object.fromEntries(names.map((name, index) => [name, found[index + 1]])) };
  }
  return null;
}

/** A refusal as a sentence: the reason, then the place if it names one that helps. */
export function refusal({ error, place, ko }, words) {
  const found = known(error);
  const text = found ? words.t(found.key, found.params) : words.t("refused", { error: (words.language === "ko" && ko) || error || "?" });
  return place && /[.[]/.test(place) ? words.t("refused.at", { text, place }) : text;
}

const compiled = new WeakMap();

/** [[pattern, text]] of a table of Python's patterns, each of which fits a whole text. */
function patternsOf(table) {
  if (!compiled.has(table)) {
    compiled.set(table, Object.entries(table).map(([pattern, text]) => {
      const flags = pattern.startsWith("(?s)") ? "s" : "";
      return [new RegExp(`^(?:${flags ? pattern.slice(4) : pattern})$`, flags), text];
    }));
  }
  return compiled.get(table);
}

function filled(text, table, fill) {
  for (const [pattern, sentence] of patternsOf(table)) {
    const found = pattern.exec(text);
    if (found) return sentence.replace(/\{(\d+)\}/g, (_, number) => fill(found[Number(number) + 1] ?? ""));
  }
  return null;
}

/**
 * A reason of the journal in the language of `refusals` ({sentences, parts}), or null: what `told` of
 * `web/api/problems.py` answers. The name of Kafka's error may stand before it.
 */
export function told(reason, refusals) {
  const { sentences = {}, parts = {} } = refusals ?? {};
  const part = (text) => filled(text, parts, (one) => one) ?? text;
  const whole = filled(reason, sentences, part);
  if (whole !== null) return whole;
  const [, error, rest] = /^([A-Z][A-Z_]+): (.+)$/s.exec(reason) ?? [];
  const known = error ? filled(rest, sentences, part) : null;
  return known === null ? null : `${error}: ${known}`;
}
