/** What is wrong with a broker that runs: what its disks do not do, and by how much its clock is wrong. */
import { FILTERS, skew } from "../i18n/format.js";

function diskTrouble({ disk }, words) {
  if (!disk?.length) return null;
  const short = disk.length > 1 ? words.t("disk.faults", { n: disk.length }) : FILTERS.disks([{ kind: disk[0].kind }], words.words);
  return { kind: "disk", room: 120, sign: `▤✕ ${short}`, whole: `${words.t("look.disks")}: ${FILTERS.disks(disk, words.words)}` };
}

function clockTrouble({ clock_ms: ms }, words) {
  return ms ? { kind: "clock", room: 80, sign: `◷✕ ${skew(ms, words.words)}`, whole: words.t("clock.wrong", { by: skew(ms, words.words) }) } : null;
}

/** [{kind, room, sign, whole}]: a sign for its card, how many pixels that takes at most, and the same in words. */
export const troublesOf = (broker, words) => [diskTrouble(broker, words), clockTrouble(broker, words)].filter(Boolean);

/** The same behind a sentence. */
export const troublesText = (broker, words) => troublesOf(broker, words).map(({ whole }) => ` ${whole}.`).join("");

/** Of a broker with several log directories, how many replicas lie in each: {sign, whole}, or null. */
export function disksOf({ brokers, topics }, id, words) {
  const { log_dirs: all } = brokers[id];
  if (!all) return null;
  const held = Object.fromEntries(all.map((directory) => [directory, 0]));
  for (const { partitions } of Object.values(topics)) {
    for (const { logs } of Object.values(partitions)) if (logs[id]?.directory in held) held[logs[id].directory] += 1;
  }
  const list = all.map((directory) => `${directory} ${held[directory]}`);
  return { sign: `▤ ${list.join(" · ")}`, whole: words.t("stage.disks", { list: list.join(", ") }) };
}
