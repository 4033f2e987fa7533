/** A reassignment of the chosen topic: a plan is made, carried out, watched until it is done, or called off. */
import { cancellation, execution, planFor, progressOf, throttleOf, throttling, verification } from "../../model/plan.js";
import { byNumber } from "../../model/names.js";
import { h } from "../patch.js";
import { bytes, cell, head, hint, table, throttleField, throttleFrom, title } from "./common.js";
import { BROKERS, brokersOf } from "./manage.js";

const SIGNS = { done: "✓", moving: "◷", open: "·", gone: "✕" };

/** One command after the other; what is refused is told, and ends it. */
async function carryOut(view, commands) {
  for (const command of commands) if (!(await view.command(command)).ok) break;
  view.inquiry.fresh("balance");
}

/** What holds moves back, in a line; a warning where it was left behind. */
export function throttleNote(view, found, topic) {
  const stands = throttleOf(found);
  if (!stands) return null;
  const { words } = view;
  const told = words.t(stands.bounds.length ? "throttle.stands" : "throttle.named", {
    brokers: stands.brokers, bounds: stands.bounds.map((bound) => `${bytes(bound)}/s`), rate: `${bytes(stands.rate)}/s`, names: stands.names
  });
  const [kind, line] = stands.forgotten
    ? ["hint warn-text", `▲ ${told} ${words.t("throttle.forgotten")}`] : ["hint", `◷ ${told}`];
  const verify = () => carryOut(view, [verification({ topic })]);
  return h("div", { key: "throttle", class: "look-row", "data-throttle": stands.forgotten ? "forgotten" : "stands" },
    h("p", { key: "told", class: kind, role: "status" }, line),
    topic && h("button", { key: "verify", type: "button", "data-plan": "verify", disabled: view.lookOnly, onclick: verify },
      words.t("do.verify_reassignment")));
}

/** For what is under way: another throttle. */
function throttleForm(view, moving) {
  const { words, state, plan } = view;
  const submit = (event) => {
    event.preventDefault();
    return carryOut(view, throttling(plan, state, moving, throttleFrom(new FormData(event.target)).throttle));
  };
  return h("form", { key: "throttle-form", class: "config-form manage", "data-manage": "throttle", onsubmit: submit },
    throttleField(view, true),
    h("button", { disabled: view.lookOnly }, words.t("throttle.change")));
}

function row(view, one, moving) {
  const { words, state, plan } = view;
  const at = progressOf(one, plan.topic, state, moving);
  const name = `${plan.topic}-${one.partition}`;
  const told = at === "moving" ? words.t("plan.moving", moving[name]) : words.t(`plan.${at}`);
  return h("tr", { key: name, "data-plan-row": name, "data-plan-state": at },
    head(name),
    cell(`[${one.before.join(", ")}]`),
    cell(`[${one.replicas.join(", ")}]`),
    cell(`${SIGNS[at]} ${told}`, "wraps"));
}

function made(view, { moving = {}, throttles = [] }) {
  const { words, state, plan } = view;
  const open = execution(plan, state, moving);
  const under = cancellation(plan, state, moving, throttles);
  const done = plan.rows.filter((one) => progressOf(one, plan.topic, state, moving) === "done").length;
  const act = (name, commands) => h("button", {
    key: name, type: "button", "data-plan": name, disabled: view.lookOnly || !commands.length, onclick: () => carryOut(view, commands)
  }, words.t(`plan.${name}`));
  return [
    table(
      "plan-table", words.t("plan"), [words.t("table.partition"), words.t("plan.before"), words.t("plan.after"), words.t("plan.verify")],
      plan.rows.map((one) => row(view, one, moving))),
    h("p", { key: "plan-progress", class: "hint", role: "status", "data-plan-done": done === plan.rows.length ? "all" : String(done) },
      words.t("plan.progress", { done, n: plan.rows.length })),
    plan.throttle && h("p", { key: "plan-throttle", class: "hint" }, words.t("throttle.planned", { rate: `${bytes(plan.throttle)}/s` })),
    under.length > 0 && throttleForm(view, moving),
    h("div", { key: "plan-acts", class: "look-row" },
      act("execute", open),
      act("cancel", under),
      h("button", { key: "drop", type: "button", onclick: () => view.set({ plan: null }) }, words.t("plan.drop"))),
  ];
}

/** The form, and the plan that was made for this topic. */
export function planner(view) {
  const { words, state, topicName: topic, plan } = view;
  const alive = Object.keys(state.brokers).filter((id) => state.brokers[id].registered).sort(byNumber).map(Number);
  const submit = (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    const brokers = [...new Set(brokersOf(given.get("brokers")))];
    const unknown = brokers.filter((id) => !alive.includes(id));
    if (unknown.length) return view.notice(words.t("plan.unknown", { brokers: unknown }));
    const found = planFor(state, topic, brokers);
    if (!found) return view.notice(words.t("plan.few", { n: brokers.length }));
    return view.set({ plan: { ...found, ...throttleFrom(given) } });
  };
  const { found } = view.inquiry.get("balance");
  return [
    title("plan", words.t("plan.of", { topic })), hint("plan-how", words.t("plan.how")),
    h("form", { key: "plan-form", class: "config-form manage", "data-manage": "plan", onsubmit: submit },
      h("label", { key: "brokers" },
        h("span", {}, words.t("plan.brokers")),
        h("input", {
          name: "brokers", autocomplete: "off", required: true, pattern: BROKERS, inputmode: "numeric", placeholder: alive.join(", ")
        })),
      throttleField(view),
      h("button", {}, words.t("plan.generate"))),
    plan?.topic === topic && made(view, found ?? {}),
    throttleNote(view, found, topic),
  ];
}
