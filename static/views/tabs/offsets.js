/** Where a group goes on that has no members, and what it forgets: `--reset-offsets` and `--delete-offsets` of Kafka's tools. */
import { h } from "../patch.js";
import { commandForm, hint } from "./common.js";

/** Name of a place -> what the command says of it; those with a number need one. */
const PLACES = {
  earliest: () => ({ to: "earliest" }),
  latest: () => ({ to: "latest" }),
  offset: (amount) => ({ to_offset: amount }),
  time: (amount) => ({ to_ms: Math.round(amount * 1000) }),
  shift: (amount) => ({ shift_by: amount }),
};
const needsNumber = (place) => PLACES[place].length > 0;

/** {topic, place, amount} of the form -> the command. */
export function resetOf(group, { topic, place, amount }) {
  return { do: "reset_offsets", group, topic, ...PLACES[place](Number(amount)) };
}

export function offsetsForm(view, name, topics) {
  const { words } = view;
  const choose = ({ target }) => {
    const { amount } = target.form.elements;
    amount.disabled = !needsNumber(target.value);
    amount.step = target.value === "time" ? "any" : "1";
    amount.min = target.value === "shift" ? "" : "0";
  };
  const select = (field, options, props) => h("label", { key: field }, h("span", {}, words.t(`reset.${field}`)),
    h("select", { name: field, ...props }, options.map(([value, text]) => h("option", { key: value, value }, text))));
  return [hint("reset", words.t("reset.hint")), commandForm(view, "reset_offsets", [
    select("topic", topics.map((topic) => [topic, topic])),
    select("place", Object.keys(PLACES).map((place) => [place, words.t(`reset.to.${place}`)]), { onchange: choose }),
    h("label", { key: "amount" },
      h("span", {}, words.t("reset.amount")),
      h("input", { name: "amount", type: "number", min: 0, step: 1, required: true, disabled: true, autocomplete: "off" })),
  ], (given) => resetOf(name, Object.fromEntries(given)), ["group", name]),
  hint("forget", words.t("reset.forget")), commandForm(view, "delete_offsets", [
    select("topic", topics.map((topic) => [topic, topic])),
  ], (given) => ({ do: "delete_offsets", group: name, topic: given.get("topic") }), ["group", name])];
}
