/** One partition: its replicas, its ISR with the time since each caught up, and who believes what about it. */
import { badge, asOf, bytes, cell, facts, head, hint, number, table, title } from "./common.js";
import { count } from "../../i18n/format.js";
import { h } from "../patch.js";
import { manage } from "./manage.js";
import { planner } from "./plan.js";

const DEDICATED = 101; // ids of controllers that are processes of their own begin here

/** A set has no order of its own. */
const inOrder = (ids) => `{${[...ids].sort((one, other) => one - other).join(", ")}}`;

function role(one, words) {
  if (!one.running) return `× ${words.t("look.replica.down")}`;
  return one.leads ? `★ ${words.t("stage.legend.leader")}` : one.in_isr ? `• ${words.t("stage.legend.isr")}` : `▽ ${words.t("stage.legend.out")}`;
}

function caughtUp(one, limit, words) {
  if (one.leads || !one.running) return "–";
  if (one.caught_up_ms === null) return words.t("look.unknown");
  const late = one.caught_up_ms > limit;
  return h("span", { class: late ? "none" : "" },
    `${late ? "▲ " : ""}${one.caught_up_ms < 10_000 ? words.t("look.ms", { n: one.caught_up_ms }) : words.t("time.now", { t: count(Math.round(one.caught_up_ms / 1000)) })}`);
}

/** A figure of a replica; of one whose broker does not run, in brackets, the last that is known of it. */
const figureOf = (n, last) => cell(typeof n === "number" ? count(n) : last === undefined ? "–" : `(${count(last)})`, "number");

function replicas({ found, words, logs }) {
  const hashes = new Set(found.replicas.map((one) => one.hash).filter(Boolean));
  const most = found.replicas.find((one) => one.leads)?.hash ?? null;
  return [
    table(
      "replicas", words.t("look.replicas"),
      [
        words.t("noun.broker"), words.t("ledger.state"), ["HW", "number"], ["LEO", "number"], [words.t("look.caught_up"), "number"],
        words.t("look.hash")],
      found.replicas.map((one) => h("tr", { key: one.broker, class: one.in_isr ? "" : "low" },
        head(one.in_isr ? badge(one.broker, "in") : badge(one.broker, "out", words.t("table.out", { id: one.broker }))),
        cell(role(one, words), "wraps"), figureOf(one.hw, logs[one.broker]?.hw), figureOf(one.leo, logs[one.broker]?.leo),
        cell(caughtUp(one, found.lag_time_max_ms, words), "number"),
        cell(one.hash
          ? h("code", { class: `crc${most && one.hash !== most ? " differs" : ""}` },
            `${most && one.hash !== most ? "≠ " : "= "}${one.hash.slice(0, 6)}`)
          : "–")))),
    found.replicas.some((one) => !one.running && logs[one.broker]) && hint("last-known", words.t("look.last_known")),
    hint(
      "hash-hint",
      `${hashes.size > 1 ? "≠ " : "= "}${words.t(hashes.size > 1 ? "look.hash.differs" : "look.hash.equal")} ${words.t("look.lag_limit", { n: found.lag_time_max_ms ?? 0 })}`),
  ];
}

function epochs({ found, words }) {
  return [
    title("epochs", words.t("look.epochs")),
    table(
      "epoch-table", words.t("look.epochs"),
      [
        words.t("noun.broker"), words.t("look.leader_epoch"), words.t("look.epoch_starts"), [words.t("look.flushed"), "number"],
        [words.t("look.size"), "number"]],
      found.replicas.map((one) => h("tr", { key: one.broker },
        head(badge(one.broker, "in")),
        cell(one.leader_epoch),
        cell(h("code", {}, (one.epochs ?? []).map(([epoch, start]) => `${epoch}→${start}`).join("  ") || "–"), "wraps"),
        number(one.flushed),
        cell(bytes(one.size), "number")))),
  ];
}

function believer(one, words) {
  if (one.client) return words.t("look.who.client", { client: one.client });
  const name = words.t(`look.who.${one.who}`);
  if (one.broker >= DEDICATED) return words.t("look.who.numbered", { who: name, id: one.broker });
  const standing = one.standing ? ` · ○ ${words.t(`state.${one.standing}`)}` : ""; // what it goes by may be of no account
  return one.broker === null ? name : [badge(one.broker, "in"), ` ${name}${standing}`];
}

function value(one, key, shown) {
  const wrong = one.differs.includes(key);
  return cell(h("span", { class: wrong ? "none" : "" }, `${wrong ? "≠ " : ""}${shown}`));
}

function beliefs({ found, words }) {
  const wrong = found.beliefs.filter((one) => one.differs.length).length;
  const log = found.beliefs.some((one) => one.behind !== null); // how far each has read, where there is a log to read
  return [
    title("beliefs", words.t("look.beliefs")),
    hint("belief-hint", wrong ? `≠ ${words.t("look.beliefs.differ", { n: wrong })}` : `✓ ${words.t("look.beliefs.agree")}`),
    table(
      "belief-table", words.t("look.beliefs"),
      [
        words.t("look.believer"), words.t("table.leader"), words.t("look.epoch"), words.t("table.isr"),
        ...(log ? [[words.t("look.behind"), "number"]] : [])],
      found.beliefs.map((one) => h("tr", { key: `${one.who} ${one.client ?? one.broker}`, class: one.differs.length ? "offline" : "" },
        head(believer(one, words)),
        value(one, "leader", one.leader === null ? words.t("look.knows_nothing") : one.leader < 0 ? words.t("table.offline") : one.leader),
        value(one, "leader_epoch", one.leader_epoch ?? "–"), value(one, "isr", one.isr ? inOrder(one.isr) : "–"),
        log && cell(one.behind === null ? "–" : one.behind ? `▲ ${count(one.behind)}` : "0", "number")))),
  ];
}

export function replicasTab(view) {
  const { words, chosen, clock } = view;
  if (!chosen) return h("p", { class: "empty" }, words.t("table.empty"));
  const entry = view.inquiry.get("partition", chosen);
  const { found } = entry;
  const logs = clock.live ? view.chosenPartition.logs : {}; // what is found out is of now
  const about = { found, words, logs };
  return [
    h("h3", { key: "name", class: "look-title" }, chosen), asOf(view, entry),
    found && facts([
      [words.t("table.leader"), found.truth.leader < 0 ? words.t("table.offline") : badge(found.truth.leader, "leader")],
      [words.t("look.leader_epoch"), found.truth.leader_epoch],
      [words.t("table.isr"), inOrder(found.truth.isr)], [words.t("look.assigned"), `[${found.truth.replicas.join(", ")}]`]]),
    found && replicas(about), found && epochs(about), found && beliefs(about), found && clock.live && [manage(view, found), planner(view)],
  ];
}
