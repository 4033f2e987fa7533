/** The form that starts one more client of the lab's own: the chosen kind, and for readers their group. */
import { another, choicesOf, GROUPS } from "../model/another.js";
import { h } from "./patch.js";

export function anotherClient(view) {
  const { state, words, topicName } = view;
  const known = choicesOf(state);
  const choice = known.includes(view.another) ? view.another : known[0];
  const submit = (event) => {
    event.preventDefault();
    view.command(another(state, topicName, choice, new FormData(event.target).get("group")));
  };
  return h("form", { key: "another", class: "config-form", "data-another": "", onsubmit: submit },
    h("select", {
      key: "kind", "aria-label": words.t("another.kind"), "data-another-kind": "", value: choice,
      onchange: (event) => view.set({ another: event.target.value })
    }, known.map((one) => h("option", { key: one, value: one }, words.t(`another.${one}`)))),
    choice !== "transactional" && h("input", {
      key: `group ${choice}`, name: "group", autocomplete: "off", "aria-label": "group.id", placeholder: GROUPS[choice], maxlength: 100
    }),
    h("button", { key: "start", disabled: !topicName }, words.t("do.start_client")),
    h("p", { key: "hint", class: "hint" }, words.t(`another.${choice}.hint`)));
}
