/** What names say: "broker-2" is broker 2, "__consumer_offsets" is internal. */

/** Who sits at the screen. */
export const OPERATOR = "operator";

/** "payments/broker-1" -> ["payments", "broker-1"]: a process of another cluster on the same ensemble; null for all others. */
export const neighbourOf = (node) => /^([a-z][a-z0-9-]*)\/(.+)$/.exec(node ?? "")?.slice(1) ?? null;

/** The processes of a broker, of a dedicated controller, of a server of the tree. */
export const brokerNode = (id) => `broker-${id}`;
export const controllerNode = (id) => `controller-${id}`;
export const zookeeperNode = (server) => `zookeeper-${server}`;

const NUMBERED = /^(broker|controller|zookeeper|machine)-(\d+)$/;

/** "broker-2" -> ["broker", "2"]; null where the name has no number that the cluster gave. */
export const partsOf = (node) => NUMBERED.exec(node ?? "")?.slice(1) ?? null;

const numberIn = (node, ...kinds) => {
  const [kind, number] = partsOf(node) ?? [];
  return kinds.includes(kind) ? number : null;
};

/** "broker-2" -> "2", anything else -> null. */
export const brokerOf = (node) => numberIn(node, "broker");

/** "controller-101" -> "101", anything else -> null. */
export const controllerOf = (node) => numberIn(node, "controller");

/** What kind of thing a node is: broker | server | producer | consumer | processor | worker | other. */
export function kindOf(node) {
  const found = /^(broker|zookeeper|controller(?=-\d+$)|producer|consumer|processor|worker)(?:-|$)/.exec(node ?? "");
  if (!found) return "other";
  return found[1] === "zookeeper" || found[1] === "controller" ? "server" : found[1];
}

/** Whether it is a machine that wants the id of a broker that there is. */
export const isMachine = (node) => numberIn(node, "machine") !== null;

/** Whether the cluster agrees through the metadata log. */
export const isKRaft = (state) => state.cluster.controller_mode === "kraft";

/** Which of several coordination servers leads, and for whom: a tree without an ensemble has none. */
export const leadsEnsemble = (state, name) => name === zookeeperNode(state.ensemble?.leader);

/** The same of a node that may be a client with any name. */
export const kindIn = (state, node) => state.clients[node]?.kind ?? kindOf(node);

const READERS = ["consumer", "processor", "worker"];

/** Whether a built-in client reads topics: a processor does, and writes what it makes of them; a worker does as one of many. */
export const isReader = (client) => READERS.includes(client?.kind);

export const isInternal = (topic) => topic.startsWith("__");

/** Partition numbers, broker ids: sorted as numbers. */
export const byNumber = (left, right) => Number(left) - Number(right);

/** "orders" before "__consumer_offsets". */
export function byTopic(left, right) {
  return isInternal(left) - isInternal(right) || (left < right ? -1 : left > right ? 1 : 0);
}

/** A client or a group as one text: a group may have the name of a client. */
export const inspectedAs = (kind, name) => `${kind}:${name}`;
