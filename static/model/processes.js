/** Events of processes, links, connections, the coordination tree and the controller. */
import { brokerMeant } from "./meant.js";
import { OPERATOR, brokerNode, brokerOf, isMachine, kindOf, zookeeperNode } from "./names.js";
import { emptyDisks, keepStopped, putBack, refuse } from "./partitions.js";
import { leaveQuorum } from "./quorum.js";

/** The entry of a node: a broker, a client of any name, or a server of the coordination tree; the operator has none. */
function process(draft, node) {
  const broker = brokerOf(node);
  if (broker !== null) return draft.make("brokers", broker);
  if (draft.root.clients[node]) return draft.own("clients", node);
  if (node === OPERATOR) return {};
  if (kindOf(node) === "server") return draft.make("servers", node);
  if (isMachine(node)) return draft.make("machines", node);
  const wanted = draft.root.wanted?.[node] ?? {};
  const kind = wanted.kind ?? (["producer", "processor", "worker"].includes(kindOf(node)) ? kindOf(node) : "consumer");
  return Object.assign(draft.make("clients", node), { kind, settings: wanted.settings ?? {}, acked: 0, failed: 0, read: 0 });
}

/** With KRaft a broker that starts registers, where there is a controller, and is fenced until it has caught up; no event says so. */
function begin(draft, id) {
  const broker = draft.own("brokers", id);
  broker.id ??= Number(id);
  const { controller_mode: mode, controller } = draft.root.cluster;
  if (mode === "kraft" && (controller ?? null) !== null) Object.assign(broker, { registered: false, fenced: true });
}

function forgetConnections(draft, broker) {
  for (const [number, connection] of Object.entries(draft.root.connections)) {
    if (String(connection.broker) === broker) delete draft.own("connections")[number];
  }
}

/** What a link does to its messages; all of it 0 where it does nothing, but the delay, which is the cluster's own where it is healthy. */
const LINK = ["delay_us", "jitter_us", "drop", "duplicate", "reorder", "bandwidth"];

function changeLink(draft, { source, dest, partitioned, ...what }) {
  const others = draft.root.links.filter((link) => link.from !== source || link.to !== dest);
  const now = { from: source, to: dest, partitioned: Boolean(partitioned), ...Object.fromEntries(LINK.map((name) => [name, what[name] ?? 0])) };
  const usual = { delay_us: draft.root.cluster.link_delay_us ?? 0 };
  draft.root.links = now.partitioned || LINK.some((name) => now[name] !== (usual[name] ?? 0)) ? [...others, now] : others;
}

/** Clocks are wrong from a command on, until another one or the end of all faults; no other event tells of it. */
function skewClocks(draft, asked) {
  const id = asked.do === "clock_skew" ? brokerMeant(draft.root, asked) : null;
  if (id !== null) draft.own("brokers", id).clock_ms = asked.ms;
  const wrong = asked.do === "stop_all_faults" ? Object.keys(draft.root.brokers).filter((one) => draft.root.brokers[one].clock_ms) : [];
  for (const one of wrong) draft.own("brokers", one).clock_ms = 0;
}

/** All clocks show more from now on; before that they showed what they did. */
function setClocks(draft, { forward_ms }, t) {
  const { clocks } = draft.root.time;
  const [since, epochMs] = clocks.at(-1);
  draft.own("time").clocks = [...(since === t ? clocks.slice(0, -1) : clocks), [t, epochMs + forward_ms]];
}

/** What was asked of a built-in client; it holds once the client's process starts. Disks are emptied at once, clocks set. */
function command(draft, { command: asked }, { t }) {
  if (asked) skewClocks(draft, asked);
  if (asked?.do === "set_clocks") setClocks(draft, asked, t);
  if (asked?.do === "wipe") emptyDisks(draft, asked.node ?? brokerNode(asked.broker));
  if (asked?.do === "start_client" && asked.kind) draft.make("wanted")[asked.name] = { kind: asked.kind, settings: asked.settings ?? {} };
  if (asked?.do === "set_client" && draft.root.clients[asked.name]) Object.assign(draft.make("clients", asked.name, "settings"), asked.set);
}

/** A path of the tree as the cluster's own brokers name it, below its chroot; null where neighbours live. */
function ownPath(draft, path) {
  const chroot = draft.root.cluster.chroot ?? "";
  return path.startsWith(chroot) ? path.slice(chroot.length) : null;
}

/** A broker is registered as long as its ephemeral znode is there. */
function register(draft, path, registered) {
  const broker = /^\/brokers\/ids\/(\d+)$/.exec(ownPath(draft, path))?.[1];
  if (broker !== undefined) Object.assign(draft.make("brokers", broker), { id: Number(broker), registered });
}

/** Where the sessions of an ensemble's clients are: a client is connected to one server. */
function connectedTo(draft, owner, server) {
  for (const [name, one] of Object.entries(draft.root.servers ?? {})) {
    if (one.clients?.includes(owner)) draft.own("servers", name).clients = one.clients.filter((client) => client !== owner);
  }
  if (server) draft.make("servers", server).clients = [...(draft.root.servers?.[server]?.clients ?? []), owner].sort();
}

/** Of several coordination servers one has ended, or looks for a leader: nobody is connected to it. */
function leaveEnsemble(draft, node, role) {
  Object.assign(draft.make("servers", node), { role, clients: [] });
  if (zookeeperNode(draft.root.ensemble.leader) === node && role !== "leading") draft.own("ensemble").leader = null;
}

/** Errors after which a client does nothing any more, whatever is asked of it: what it is then. */
const OVER = { PRODUCER_FENCED: "fenced", INVALID_PRODUCER_EPOCH: "fenced", CORRUPT_MESSAGE: "damaged" };

export const processes = {
  command,
  client_error(draft, params, { node }) {
    const { error, reaction, topic, partition, offset } = params;
    if (reaction === "fetch again") refuse(draft, params, node);
    if (reaction !== "give up" || !OVER[error] || !draft.root.clients[node]) return;
    const client = draft.own("clients", node);
    client.over = OVER[error];
    if (typeof offset !== "number") return;
    const others = (client.positions ?? []).filter(([of, number]) => of !== topic || number !== partition);
    client.positions = [...others, [topic, partition, offset]];
  },
  broker_added(draft, { broker, rack, replica_selector }, { node }) {
    const found = {
      id: broker, node, state: "stopped", how: null, registered: false, fenced: false, host: "", port: 0,
      incarnation: 0, disk: [], clock_ms: 0, rack, replica_selector
    };
    Object.assign(draft.make("brokers", String(broker)), found);
  },
  command_refused(draft, { command: asked }) {
    if (asked.do === "wipe" && draft.root.wiped) putBack(draft, draft.root.wiped);
  },
  process_started(draft, { incarnation }, { node }) {
    if (draft.root.wiped?.node === node) delete draft.root.wiped;
    Object.assign(process(draft, node), { node, state: "running", how: null, incarnation });
    if (draft.root.clients[node]?.over) draft.own("clients", node).over = null;
    if (draft.root.clients[node]?.reads_from) draft.own("clients", node).reads_from = {};
    if (brokerOf(node) !== null) begin(draft, brokerOf(node));
  },
  process_ended(draft, { how }, { node }) {
    Object.assign(process(draft, node), { node, state: "stopped", how: how ?? "crash" });
    if (brokerOf(node) !== null) forgetConnections(draft, brokerOf(node));
    leaveQuorum(draft, node);
    if (draft.root.cluster.controller_mode === "kraft" && node.endsWith(`-${draft.root.cluster.controller}`)
      && (brokerOf(node) !== null || kindOf(node) === "server"))
      draft.own("cluster").controller = null;
    if (draft.root.ensemble && kindOf(node) === "server") leaveEnsemble(draft, node, null);
    else if (draft.root.ensemble) connectedTo(draft, node, null);
    if (draft.root.ending?.node === node) keepStopped(draft, draft.root.ending);
    delete draft.root.ending;
    if (draft.root.wiped?.node === node) emptyDisks(draft, node); // it ran until its disks were emptied
  },
  ensemble_state(draft, { after }, { node }) {
    draft.make("ensemble");
    if (after === "looking") leaveEnsemble(draft, node, after);
    else draft.make("servers", node).role = after;
  },
  ensemble_epoch(draft, { server, epoch, zxid }) {
    Object.assign(draft.make("ensemble"), { leader: server, epoch, zxid });
  },
  ensemble_committed(draft, { zxid }) {
    draft.make("ensemble").zxid = zxid;
  },
  ensemble_client(draft, { owner }, { node }) {
    connectedTo(draft, owner, node);
  },
  session_expired(draft, { owner }) {
    if (draft.root.ensemble) connectedTo(draft, owner, null);
  },
  session_closed(draft, { owner }) {
    if (draft.root.ensemble) connectedTo(draft, owner, null);
  },
  process_paused(draft, params, { node }) {
    process(draft, node).state = "paused";
  },
  process_resumed(draft, params, { node }) {
    process(draft, node).state = "running";
  },
  link_changed: changeLink,
  disks_changed(draft, { faults }, { node }) {
    if (brokerOf(node) !== null) process(draft, node).disk = faults;
  },
  protection_set(draft, { protection, on }) {
    const off = draft.make("cluster", "protections");
    if (on) delete off[protection];
    else off[protection] = false;
  },
  stage_costs_set(draft, costs) {
    draft.own("cluster").stage_costs = costs;
  },
  listening(draft, { host, port }, { node }) {
    if (brokerOf(node) !== null) Object.assign(process(draft, node), { host, port });
  },
  connection_opened(draft, { connection, peer }, { node }) {
    const broker = Number(brokerOf(node));
    draft.make("connections")[connection] = { id: connection, broker, peer, client_id: null, software: null };
  },
  connection_closed(draft, { connection }) {
    if (draft.root.connections[connection]) delete draft.own("connections")[connection];
  },
  client_software(draft, { connection, client_id, software }) {
    const known = draft.own("connections", connection);
    if (known) Object.assign(known, { client_id, software });
  },
  znode_created(draft, { path, ephemeral }) {
    draft.make("znodes")[path] = { version: 0, ephemeral: ephemeral ?? null };
    register(draft, path, true);
  },
  znode_changed(draft, { path, version }) {
    draft.make("znodes", path).version = version;
  },
  znode_deleted(draft, { path }) {
    delete draft.make("znodes")[path];
    register(draft, path, false);
    if (ownPath(draft, path) === "/controller") draft.own("cluster").controller = null;
  },
  neighbour_changed(draft, { neighbour, ...figures }) {
    Object.assign(draft.make("neighbours", neighbour), figures);
  },
  quorum_voters(draft, { voters, offset }) {
    const quorum = draft.make("quorum");
    if (offset >= (quorum.voters_offset ?? -1)) Object.assign(quorum, { voters, voters_offset: offset });
    quorum.kraft_version = 1;
  },
  controller_elected(draft, { broker, epoch }) {
    Object.assign(draft.own("cluster"), { controller: broker, controller_epoch: epoch });
  },
  controller_resigned(draft, { broker }) {
    const cluster = draft.own("cluster");
    if (cluster.controller === broker) cluster.controller = null;
  },
  broker_registered(draft, { broker }) {
    Object.assign(draft.make("brokers", broker), { id: Number(broker), registered: true, fenced: false });
  },
  broker_gone(draft, { broker, reason }) {
    const fenced = draft.root.cluster.controller_mode === "kraft" && reason !== "unregistered";
    Object.assign(draft.make("brokers", broker), { id: Number(broker), registered: false, fenced });
  },
};
