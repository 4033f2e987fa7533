/** One request: who sent it, when it arrived, how long it stood in each stage, what led to it. */
import { requestAt, isRequest } from "../../model/request.js";
import { seconds } from "../../i18n/format.js";
import { facts, hint, ms, title } from "./common.js";
import { h } from "../patch.js";

const STAGES = [["queue_us", "request.queue"], ["local_us", "request.local"], ["remote_us", "request.remote"], ["response_us", "request.response"]];
const RECENT = 14;

function stages(request, words) {
  if (!request.stages) return hint("no-stages", words.t("request.no_stages"));
  const whole = Math.max(1, STAGES.reduce((sum, [key]) => sum + (request.stages[key] ?? 0), 0));
  return h("ol", { key: "stages", class: "stage-bars" }, STAGES.map(([key, name]) => {
    const value = request.stages[key] ?? 0;
    return h("li", { key }, h("span", {}, words.t(name)), h("i", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${(100 * value) / whole}%` } })), h("b", {}, ms(value)));
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
  return [title("fields", words.t("request.fields")), h("dl", { key: "field-list", class: "facts one" }, pairs.map(([name, value]) => [h("dt", {}, h("code", {}, name)), h("dd", {}, value)]))];
}

function lose(view, request) {
  if (!/^(broker|producer|consumer|zookeeper|operator)/.test(request.client ?? "") || !request.broker) return null;
  return h("button", { key: "lose", type: "button", onclick: () => view.command({ do: "lose_next", between: [request.client, request.broker], api: request.api }) }, view.words.t("request.lose", { api: request.api }));
}

function one(view, position) {
  const { words, history } = view;
  const event = history.at(position);
  const request = requestAt(history, position);
  const name = (node) => (node === null ? "?" : words.name(node));
  return [
    h("h3", { key: "name", class: "look-title" }, request ? `${request.api}${request.version === null ? "" : ` v${request.version}`} #${request.correlation}` : words.say(event)),
    request && facts([[words.t("request.from"), name(request.client)], [words.t("request.to"), name(request.broker)], request.clientId && ["client.id", request.clientId],
      [words.t("request.took"), request.took === null ? words.t("request.open") : ms(request.took)], [words.t("request.answer"), request.error === null ? "…" : request.error === "NONE" ? "✓ NONE" : `✕ ${request.error}`]]),
    request && [title("stages-title", words.t("request.stages")), stages(request, words), title("course-title", words.t("request.course")), course(view, request), lose(view, request)],
    chain(view, position), fields(event, words),
  ];
}

function recent(view) {
  const { history, clock, words } = view;
  const found = [];
  for (let at = clock.viewed - 1; at >= history.begin && at > clock.viewed - 800 && found.length < RECENT; at -= 1) {
    const event = history.at(at);
    if (event.code === "request_sent" || (event.code === "request_received" && /^\d+$/.test(String(event.params.source)))) found.push([at, event]);
  }
  return [
    title("recent", words.t("request.recent")),
    h("ul", { key: "recent-list", class: "znodes" }, found.map(([at, event]) => h("li", { key: at }, h("button", { type: "button", class: "plain more", "data-request": at, onclick: () => view.lookAt(at) }, `${event.params.api} #${event.params.correlation}`),
      h("span", {}, `${words.name(event.node === "world" ? "world" : String(event.params.source ?? event.node))} → ${words.name(String(event.params.to ?? event.node))}`)))),
  ];
}

export function requestTab(view) {
  const { history, words, selected, looked } = view;
  const position = looked ?? (selected !== null && isRequest(history.at(selected)) ? selected : null);
  const there = position !== null && history.at(position);
  return [!there && hint("how", words.t("request.how")), there && one(view, position), recent(view)];
}
