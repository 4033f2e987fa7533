/**
 * One request, put together from the journal: sent, received, its stages, answered, the answer's arrival.
 *
 *     request_sent (client) -> request_received (broker) -> request_stages -> response_sent (broker)
 *
 * They belong together by correlation number and by the two ends.
 */
const AROUND = 600;
const KINDS = new Set(["request_sent", "request_received", "request_stages", "response_sent"]);

/** The same request, whichever of its events is looked at. */
export const messageKey = ({ client, broker, api, correlation }) => `${client}>${broker}:${api}#${correlation}`;

export const isRequest = (event) => KINDS.has(event?.code);

/** The two ends of an event of a request: {client, broker}. */
function ends({ code, node, params }) {
  if (code === "request_sent") return { client: node, broker: params.to };
  if (code === "request_received") return { client: String(params.source), broker: node };
  if (code === "response_sent") return { client: String(params.to), broker: node };
  return { client: null, broker: node };
}

function belongs(event, wanted, client, broker) {
  if (!isRequest(event) || event.params.correlation !== wanted.params.correlation || event.params.api !== wanted.params.api) return false;
  const own = ends(event);
  return own.broker === broker && (own.client === null || client === null || own.client === client);
}

/** {api, client, broker, correlation, parts: [{position, event}], stages, error, took} around `position`, or null. */
export function requestAt(history, position) {
  const event = history.at(position);
  if (!isRequest(event)) return null;
  const { client, broker } = ends(event);
  const parts = [];
  const from = Math.max(history.begin, position - AROUND);
  const to = Math.min(history.end, position + AROUND);
  for (let at = from; at < to; at += 1) {
    const other = history.at(at);
    if (other && belongs(other, event, client, broker)) parts.push({ position: at, event: other });
  }
  const one = (code) => parts.find((part) => part.event.code === code && !(code === "request_stages" && !client))?.event ?? null;
  const [sent, received, stages, answered] = ["request_sent", "request_received", "request_stages", "response_sent"].map(one);
  const begin = sent ?? received;
  return {
    api: event.params.api, version: (received ?? sent)?.params.version ?? null, correlation: event.params.correlation,
    clientId: received?.params.client_id ?? null,
    client: client ?? (sent ?? received ?? answered ? ends(sent ?? received ?? answered).client : null), broker, parts, stages: stages?.params ?? null,
    error: answered?.params.error ?? null, took: begin && answered ? answered.t - begin.t : null, bytes: sent?.params.size ?? received?.params.size ?? null,
  };
}
