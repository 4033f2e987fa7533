/** One more client of the lab's own: which kind, and for readers which group, in either protocol or as a queue. */
import { isKRaft } from "./names.js";

/**
 * | choice | kind | settings | from |
 * |---|---|---|---|
 * | classic | consumer | group.id | |
 * | consumer | consumer | group.id, group.protocol=consumer (KIP-848) | KRaft |
 * | share | worker | group.id (KIP-932) | KRaft |
 * | transactional | producer | transactional.id, the client's name | |
 */
export const CHOICES = ["classic", "consumer", "share", "transactional"];
const TODAY = new Set(["consumer", "share"]);
const KINDS = { classic: "consumer", consumer: "consumer", share: "worker", transactional: "producer" };
export const GROUPS = { classic: "readers", consumer: "readers-848", share: "workers" };

/** What the brokers of this state can serve. */
export const choicesOf = (state) => CHOICES.filter((choice) => isKRaft(state) || !TODAY.has(choice));

/** The first of `consumer-orders-b`, `-c`, ... that no client has. */
function freeName(state, kind, topic) {
  let number = 1;
  const name = () => `${kind}-${topic}-${number < 26 ? String.fromCharCode(97 + number) : number}`;
  while (name() in state.clients) number += 1;
  return name();
}

/** The command that starts it. */
export function another(state, topic, choice, group) {
  const kind = KINDS[choice];
  const name = freeName(state, kind, topic);
  const about = { do: "start_client", name, kind, topic };
  if (choice === "transactional") return { ...about, rate: 5, transaction_records: 5, settings: { "transactional.id": name } };
  const settings = { "group.id": group || GROUPS[choice] };
  return { ...about, settings: choice === "consumer" ? { ...settings, "group.protocol": "consumer" } : settings };
}
