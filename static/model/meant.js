/** Which process a command means that names it by its role: the same as `lab/clusters/roles.py` finds. No DOM. */
import { brokerNode, brokerOf } from "./names.js";

/** {leader: 1, replicas: [1, 2]} of "orders-0". */
function partitionIn(state, name) {
  const at = name.lastIndexOf("-");
  return state.topics[name.slice(0, at)]?.partitions[name.slice(at + 1)];
}

/** The node that `command` is about, of the own cluster; null where nobody plays that role. */
export function nodeMeant(state, { broker, node, leader_of: led, follower_of: followed, controller }) {
  if (node !== undefined) return node;
  if (broker !== undefined) return brokerNode(broker);
  if (controller !== undefined) return state.cluster.controller === null ? null : brokerNode(state.cluster.controller);
  const partition = partitionIn(state, String(led ?? followed));
  const id = led === undefined ? partition?.replicas.find((one) => one !== partition.leader) : partition?.leader;
  return id === undefined || id < 0 ? null : brokerNode(id);
}

/** The broker that `command` is about, as a key of `state.brokers`; null where it is about none that is there. */
export function brokerMeant(state, command) {
  const id = brokerOf(nodeMeant(state, command));
  return id !== null && state.brokers[id] ? id : null;
}
