/**
 * Messages under way in a world that stands still: where on their link they are, which is the first of it,
 * and which question finds their bytes. No DOM.
 *
 *     sent at 10 ms, arrives at 30 ms, now 20 ms     half way
 *     due in this instant                            at the end of the way, the first in front
 *
 * A connection is a TCP connection: of the messages of one link only the first can be delivered next.
 */
import { flightOf } from "../draw/traffic.js";
import { brokerOf } from "./names.js";

const QUEUE = 0.12; // messages that are due stand this far behind one another

const linkOf = ({ from, to }) => `${from}>${to}`;

/** The same message, whoever tells of it. */
export const keyOf = ({ from, to, kind, api, correlation, sent }) => `${from}>${to}:${kind}:${api ?? ""}#${correlation ?? sent}`;

/** Flights with {key, first, behind, share, answer, label}; `now` and `sentAt(seq)` are virtual microseconds. */
export function standing(flights, now, sentAt) {
  const lines = new Map();
  return flights.map((flight) => {
    const line = linkOf(flight);
    const behind = lines.get(line) ?? 0;
    lines.set(line, behind + 1);
    const sent = sentAt(flight.sent);
    const share = flight.at > now && sent !== null && sent < flight.at ? (now - sent) / (flight.at - sent) : 0.85 - QUEUE * behind;
    return {
      ...flight, key: keyOf(flight), first: behind === 0, behind, share: Math.max(0.08, Math.min(0.92, share)),
      answer: flight.kind === "response", label: labelOf(flight)
    };
  });
}

export const labelOf = ({ kind, api }) => (kind === "closed" ? "✕" : api ?? "?");

const AROUND = 600; // events on either side in which a message is sent and arrives

/**
 * What was under way at a moment of the past, from the journal alone: messages that were sent before it and whose first
 * effect where they go stands behind it, and whatever the event of the moment itself has sent.
 */
export function passing(history, viewed) {
  const now = history.timeAt(viewed);
  const arrivals = arrivalsBehind(history, viewed);
  const found = [];
  for (let at = viewed - 1; at >= Math.max(history.begin, viewed - AROUND); at -= 1) {
    const event = history.at(at);
    arrivals.delete(effectOf(event)); // it has arrived before
    const flight = flightOf(event);
    if (!flight || !flight.to) continue;
    const { correlation } = event.params;
    const arrives = arrivals.get(effectOf({ cause: event.seq, node: String(flight.to), params: event.code === "request_sent" ? { correlation } : {} }));
    if (arrives === undefined && at !== viewed - 1) continue;
    const share = arrives > event.t ? (now - event.t) / (arrives - event.t) : 0.5;
    found.push({ ...flight, to: String(flight.to), key: `${at}`, position: at, first: true, behind: 0, share: Math.max(0.08, Math.min(0.92, share)) });
  }
  return found;
}

/** A request arrives as itself, an answer as the first thing that it causes where it goes. */
const effectOf = ({ code = null, cause, node, params }) => `${cause}>${node}#${code === null || code === "request_received" ? params.correlation ?? "" : ""}`;

/** When what is on its way arrives. */
function arrivalsBehind(history, viewed) {
  const found = new Map();
  for (let at = Math.min(history.end, viewed + AROUND) - 1; at >= viewed; at -= 1) {
    const event = history.at(at);
    found.set(effectOf(event), event.t);
  }
  return found;
}

/** The replica of partition `name` on broker `id`, as a key of `arriving`. */
export const comingOf = (name, id) => `${name}@${id}`;

/**
 * What was on its way to followers at a moment of the past: behind which offset each will end, Map("orders-0@2" -> offset).
 * What comes of an answer that was sent before the moment was on its way, or in the hands of the follower.
 */
export function arriving(history, viewed) {
  const found = new Map();
  const now = history.at(viewed - 1)?.seq ?? 0;
  for (let at = viewed; at < Math.min(history.end, viewed + AROUND); at += 1) {
    const { code, cause, node, params } = history.at(at);
    if (code !== "log_appended" || params.role !== "follower" || cause > now) continue;
    found.set(comingOf(`${params.topic}-${params.partition}`, brokerOf(node)), params.last_offset + 1);
  }
  return found;
}

/** The same of what is under way now: answers say where they make a follower's logs end. */
export function bringing(flights) {
  const found = new Map();
  for (const { to, brings = [] } of flights) {
    for (const { topic, partition, until } of brings ?? []) found.set(comingOf(`${topic}-${partition}`, brokerOf(to)), until);
  }
  return found;
}

/** The position of the event that sent a flight, or null when it is not known here. */
export function positionOf(history, flight) {
  const begin = history.positionOf(flight.sent);
  if (begin === null) return null;
  const code = flight.kind === "response" ? "response_sent" : "request_sent";
  for (let at = begin; at < history.end; at += 1) {
    const event = history.at(at);
    if (event.seq !== flight.sent) break;
    if (event.code === code && event.params.correlation === flight.correlation
      && String(event.params.to) === flight.to && event.params.api === flight.api)
      return at;
  }
  return null;
}

/** The question for the bytes of a request (see `request.js`), or of its answer; null when it cannot be told which. */
export function questionOf(request, answer) {
  const one = (code) => request.parts.find((part) => part.event.code === code)?.event;
  const event = answer ? one("response_sent") : one("request_sent") ?? (/^\d+$/.test(request.client ?? "") ? one("request_received") : null);
  if (!event || request.version === null || request.client === null || request.broker === null) return null;
  const [from, to] = answer ? [request.broker, request.client] : [request.client, request.broker];
  return { what: "message", seq: event.seq, t: event.t, from, to, api: request.api, version: request.version, correlation: request.correlation, answer };
}
