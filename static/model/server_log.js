/**
 * The journal as the log of one broker: lines as log4j writes them, with Kafka's levels and logger names. No DOM.
 *
 *     [2026-03-01 09:00:04,250] WARN  …  (kafka.cluster.Partition)
 *     [2026-03-01 09:00:04,251] TRACE …  correlationId=17 (kafka.request.logger)
 *
 * INFO and above is what a server.log shows; requests are on TRACE, as Kafka's own request log is.
 */
import { toneOf } from "./story.js";

const LOGGERS = [
  [/^(request_sent|fetch_session)/, "org.apache.kafka.clients.NetworkClient"], [/^(request_|response_|records_sent|frame_)/, "kafka.request.logger"],
  [/^(connection_|listening|client_software)/, "kafka.network.SocketServer"], [/^purgatory_/, "kafka.server.DelayedOperationPurgatory"],
  [/^(isr_|high_watermark|leader_epoch|follower_)/, "kafka.cluster.Partition"], [/^(became_|replica_|truncated)/, "kafka.server.ReplicaManager"],
  [/^log_clean|^log_uncleanable/, "kafka.log.LogCleaner"], [/^(log_|logs_|segment_|index_|file_)/, "kafka.log.UnifiedLog"],
  [/^disk/, "kafka.server.LogDirFailureChannel"],
  [/^ensemble_/, "org.apache.zookeeper.server.quorum.QuorumPeer"], [/^(session_|znode_|watch_)/, "kafka.zookeeper.ZooKeeperClient"],
  [/^(group_|member_|offset)/, "kafka.coordinator.group.GroupCoordinator"],
  [/^transaction/, "kafka.coordinator.transaction.TransactionCoordinator"], [/^(raft_|quorum_|vote|metadata_)/, "org.apache.kafka.raft.KafkaRaftClient"],
  [/^(controller_|leader_elected|partition_offline|assignment_|topic_|broker_)/, "kafka.controller.KafkaController"],
];
const TRACE = /^(request_|response_|records_sent|purgatory_|watch_fired)/;
export const LEVELS = ["INFO", "TRACE"];

/** Kafka's name for who would write the line. */
export function loggerOf(code) {
  return LOGGERS.find(([known]) => known.test(code))?.[1] ?? "kafka.server.KafkaServer";
}

export function levelOf(code) {
  if (TRACE.test(code)) return "TRACE";
  return toneOf(code) === "bad" ? "WARN" : "INFO";
}

const two = (value, width = 2) => String(value).padStart(width, "0");

/** Virtual microseconds as log4j's date, of the cluster's own calendar. `clocks`: from when on they counted from where. */
export function stamp(t, clocks) {
  const [, epochMs] = clocks.findLast(([since]) => since <= t) ?? clocks[0];
  const date = new Date(epochMs + Math.floor(t / 1000));
  return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())},${two(date.getUTCMilliseconds(), 3)}`;
}

/** One line: {level, logger, stamp, text, correlation}. `say(event)` is its sentence. */
export function lineOf(event, clocks, say) {
  const { code, params, t } = event;
  return { level: levelOf(code), logger: loggerOf(code), stamp: stamp(t, clocks), text: say(event), correlation: params.correlation ?? null };
}

/** As text, to be copied. */
export function textOf({ stamp: at, level, text, correlation, logger }) {
  return `[${at}] ${level.padEnd(5)} ${text}${correlation === null ? "" : ` correlationId=${correlation}`} (${logger})`;
}

/** Positions of the last `limit` events of a node before `viewed` that `told(code)`, newest last; no more than `depth` are looked at. */
export function linesBefore(history, node, viewed, { trace, limit, depth, told = () => true }) {
  const found = [];
  for (let at = Math.min(viewed, history.end) - 1; at >= history.begin && at > viewed - depth && found.length < limit; at -= 1) {
    const event = history.at(at);
    if (event && event.node === node && told(event.code) && (trace || levelOf(event.code) !== "TRACE")) found.push(at);
  }
  return found.reverse();
}
