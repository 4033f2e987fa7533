/**
 * What a run is judged with, in the reader's language: expectations that are not met, and notes.
 *
 * The run keeps them as the command line prints them (`receipt.lost: expected >= 1, found 0`); what they name
 * (keys, figures, settings) is the same in every language, the words around it are not.
 */
const NOTES = [
  [/^(.+): expected (.+), found (.+)$/, "unmet", ["key", "wanted", "found"]],
  [/^still running after (\S+) s: (.+)$/, "note.still_running", ["s", "names"]],
  [/^partitions without a leader at the end: /, "note.no_leader", []],
  [/^not every replica came back into the ISR within (\S+) s$/, "note.not_in_sync", ["s"]],
  [/^not everything could be read back$/, "note.not_read", []],
  [/^steps\[(\d+)\]: (\w+(?: \(.+?\))?) was refused: (.+)$/s, "note.step_refused", ["step", "command", "reason"]],
  [/^(\w+(?: \(.+?\))?) was refused: (.+)$/s, "note.refused", ["command", "reason"]],
  [/^steps\[(\d+)\]: (.+) did not come true within (\S+) s of virtual time$/, "note.not_true", ["step", "condition", "s"]],
  [/^the cluster did not form/, "note.not_formed", []],
  [/^topics were not created: (.+)$/, "note.no_topics", ["reason"]],
  [/^the process has ended without a result/, "note.ended", []],
];

/** {key, params} of such a sentence, or null when its shape is not known. */
export function knownSentence(text) {
  for (const [pattern, key, names] of NOTES) {
    const found = pattern.exec(text ?? "");
    if (found) return { key, params: Object.fromEntries(names.map((name, index) => [name, found[index + 1]])) };
  }
  return null;
}

/** The sentence in the reader's language; as it came when its shape is not known. */
export function judged(text, words) {
  const found = knownSentence(text);
  if (!found) return text;
  const { params } = found;
  if (params.found === "None") params.found = words.t("note.none");
  return words.t(found.key, params);
}
