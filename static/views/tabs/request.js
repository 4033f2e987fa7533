/** What is under way; one request: who sent it, how long it stood in each stage, what led to it, its bytes. */
import { isRequest, messageKey, requestAt } from "../../model/request.js";
import { seconds } from "../../i18n/format.js";
import { questionOf } from "../../model/flights.js";
import { fieldText, fields as byteFields, hex } from "../bytes.js";
import { segments } from "../levers.js";
import { facts, hint, ms, title } from "./common.js";
import { h } from "../patch.js";

const STAGES = [["queue_us", "request.queue"], ["local_us", "request.local"], ["remote_us", "request.remote"], ["response_us", "request.response"]];
const RECENT = 14;
const UNDER_WAY = 40;

function stages(request, words) {
  if (!request.stages) return hint("no-stages", words.t("request.no_stages"));
  const whole = Math.max(1, STAGES.reduce((sum, [key]) => sum + (request.stages[key] ?? 0), 0));
  return h("ol", { key: "stages", class: "stage-bars" }, STAGES.map(([key, name]) => {
    const value = request.stages[key] ?? 0;
    return h("li", { key },
      h("span", {}, words.t(name)),
      h("i", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${(100 * value) / whole}%` } })),
      h("b", {}, ms(value)));
  }));
}

function course(view, request) {
  const { words } = view;
  return h("ol", { key: "course", class: "chain" }, request.parts.map(({ position, event }) => h("li", { key: position },
    h("button", { type: "button", class: "plain", onclick: () => view.select(position) }, h("time", {}, `${seconds(event.t)} s `), words.say(event)))));
}

function chain(view, position) {
  const { history, words } = view;
  const found = history.causes(position, 8);
  if (!found.length) return null;
  return [title("causes", words.t("request.causes")), h("ul", { key: "cause-list", class: "causes" }, found.map((at) => {
    const event = history.at(at);
    return h("li", { key: at }, h("button", { type: "button", class: "plain", onclick: () => view.select(at) }, `↳ ${seconds(event.t)} s ${words.say(event)}`));
  }))];
}

function fields(event, words) {
  const pairs = Object.entries(event.params).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]);
  return [title("fields-title", words.t("request.fields")), h("dl", { key: "field-list", class: "facts one" },
    pairs.map(([name, value]) => [
      h("dt", {}, h("code", {}, name)),
      h("dd", {}, value)]))];
}

function lose(view, request) {
  if (!/^(broker|producer|consumer|zookeeper|operator)/.test(request.client ?? "") || !request.broker) return null;
  return h("button", {
    key: "lose", type: "button", disabled: view.lookOnly,
    onclick: () => view.command({ do: "lose_next", between: [request.client, request.broker], api: request.api })
  }, view.words.t("request.lose", { api: request.api }));
}

// -- under way ------------------------------------------------------------------------------
const label = (flight, words) => (flight.kind === "closed"
  ? words.t("flights.closed")
  : `${flight.kind === "response" ? "◆" : "●"} ${flight.api ?? "?"}${flight.correlation === undefined ? "" : ` #${flight.correlation}`}`);

function flight(view, one) {
  const { words, clock } = view;
  const wait = one.at - clock.clusterTime();
  const next = (verb, act) => h("button", {
    key: verb, type: "button", disabled: view.lookOnly, [`data-${verb}`]: one.key, "aria-label": words.t(`flights.${verb}_this`, { what: label(one, words) }),
    onclick: () => act(one)
  }, words.t(`flights.${verb}`));
  return h("li", { key: one.key, class: `flight${view.flight === one.key ? " chosen" : ""}` },
    h("button", { type: "button", class: "plain more", "data-flight": one.key, onclick: () => view.lookAtFlight(one) }, label(one, words)),
    h("span", {},
      `${words.name(one.from)} → ${words.name(one.to)}`,
      h("small", {}, ` · ${wait > 0 ? words.t("flights.arrives", { ms: Math.ceil(wait / 1000) }) : words.t("flights.due")}`)),
    one.first ? h("span", { class: "flight-acts" }, next("deliver", view.deliver), one.kind !== "closed" && next("drop", view.drop))
      : h("small", { class: "soft" }, words.t("flights.behind", { n: one.behind })));
}

/** Whether anything takes time to arrive: a link has a delay, or the cluster stands still. */
const takesTime = ({ state, clock, standing }) => clock.live && (clock.cluster.paused || standing.length > 0
  || state.links.some(({ delay_us: delay }) => delay > 0) || state.cluster.link_delay_us > 0);

/**
 * What is under way now; only the first of a link can be the next. While there may be something it is a box of one height, so
 * that nothing below it moves when a message arrives.
 */
function underWay(view) {
  const { words, clock } = view;
  const { paused } = clock.cluster;
  const standing = clock.live ? view.standing : [];
  const passing = clock.live && !paused && !standing.length && view.underWay.length > 0;
  const waits = takesTime(view);
  const name = waits ? words.t("flights.title", { n: standing.length }) : words.t("flights.name");
  const key = !clock.live
    ? "flights.past"
    : standing.length
      ? (paused ? "flights.hint" : "flights.running")
      : paused ? "flights.none" : passing ? "flights.passing" : "flights.none_running";
  return [
    title("flights", name),
    h("div", { key: "flights-box", class: `flights-box${waits ? " waits" : ""}`, tabindex: "0", role: "group", "aria-label": name },
      standing.length > 0 && h("ul", { key: "flights-list", class: "flights" }, standing.slice(0, UNDER_WAY).map((one) => flight(view, one))),
      hint("flights-hint", words.t(key))),
  ];
}

// -- bytes ----------------------------------------------------------------------------------
/** The bytes of the request or of its answer: asked for once, for it may take a while. */
function messageBytes(view, request) {
  const { words, messages } = view;
  const sides = [["request", words.t("message.request")], ["answer", words.t("message.answer")]].filter(([side]) => questionOf(request, side === "answer"));
  if (!sides.length) return null;
  const shown = messages.shown?.of === messageKey(request) ? messages.shown : null;
  const ask = (side) => messages.ask(messageKey(request), side, questionOf(request, side === "answer"));
  return [
    title("bytes-title", words.t("message.bytes")),
    h("div", { key: "bytes-side", class: "look-row" }, segments("message", words.t("message.bytes"), sides, shown?.side ?? null, ask)),
    !shown && hint("bytes-how", words.t("message.how")),
    shown?.waiting && h("p", { key: "bytes-wait", class: "hint", role: "status" }, words.t("message.wait", { share: shown.share })),
    shown?.error && h("p", { key: "bytes-error", class: "hint" }, words.t("message.none", { error: view.refusal({ problem: shown.error }) })),
    shown?.found && [
      hint("bytes-facts", `${words.t("message.size", { n: shown.found.size })} · ${words.t(`message.${shown.found.how}`)}`),
      hex(view, shown.found, "messageLit"), fieldText(view, shown.found, "messageLit"), byteFields(view, shown.found, "messageLit"),
    ],
  ];
}

function one(view, position) {
  const { words, history } = view;
  const event = history.at(position);
  const request = requestAt(history, position);
  const name = (node) => (node === null ? "?" : words.name(node));
  return [
    h("h3", { key: "name", class: "look-title", "data-looked": position },
      request ? `${request.api}${request.version === null ? "" : ` v${request.version}`} #${request.correlation}` : words.say(event)),
    request && facts([
      [words.t("request.from"), name(request.client)], [words.t("request.to"), name(request.broker)],
      request.clientId && ["client.id", request.clientId],
      [words.t("request.took"), request.took === null ? words.t("request.open") : ms(request.took)],
      [words.t("request.answer"), request.error === null ? "…" : request.error === "NONE" ? "✓ NONE" : `✕ ${request.error}`]]),
    request && [
      title("stages-title", words.t("request.stages")), stages(request, words), title("course-title", words.t("request.course")),
      course(view, request), lose(view, request), messageBytes(view, request)],
    !request && view.messages.shown && hint("no-message", words.t("message.not_here")),
    chain(view, position), fields(event, words),
  ];
}

/** The last requests; the list holds still while the pointer is over it or the focus in it. */
function recent(view) {
  const { history, clock, words } = view;
  const held = view.heldRecent?.every((at) => history.at(at)) ? view.heldRecent : null;
  const found = held ?? lastRequests(history, clock.viewed);
  const hold = () => { view.heldRecent = found; };
  const letGo = ({ currentTarget, relatedTarget }) => {
    const list = currentTarget.closest("ul"); // the pointer may leave while the keyboard's focus stays, and the other way round
    if (!list.matches(":hover") && !list.querySelector(":focus-visible") && !list.contains(relatedTarget)) view.heldRecent = null;
  };
  return [
    title("recent", words.t("request.recent")),
    h("ul", { key: "recent-list", class: "znodes recent", onpointerenter: hold, onpointerleave: letGo }, found.map((at) => {
      const event = history.at(at);
      return h("li", { key: at },
        h("button", {
          type: "button", class: "plain more", "data-request": at, onfocus: hold, onblur: letGo, onclick: () => view.lookAt(at)
        }, `${event.params.api} #${event.params.correlation}`),
        h("span", {},
          `${words.name(event.node === "world" ? "world" : String(event.params.source ?? event.node))} → ${words.name(String(event.params.to ?? event.node))}`));
    })),
  ];
}

function lastRequests(history, viewed) {
  const found = [];
  for (let at = viewed - 1; at >= history.begin && at > viewed - 800 && found.length < RECENT; at -= 1) {
    const event = history.at(at);
    if (event.code === "request_sent" || (event.code === "request_received" && /^\d+$/.test(String(event.params.source)))) found.push(at);
  }
  return found;
}

/** What is under way, the request that is looked at, the last ones: always in this order. */
export function requestTab(view) {
  const { history, words, selected, looked } = view;
  const position = looked ?? (selected !== null && isRequest(history.at(selected)) ? selected : null);
  const there = position !== null && history.at(position);
  return [underWay(view), there ? one(view, position) : hint("how", words.t("request.how")), recent(view)];
}
