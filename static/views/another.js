/** The form that starts one more client of the lab's own: the chosen kind, and for readers their group. */
import { another, choicesOf, GROUPS } from "../model/another.js";
import { h } from "./patch.js";

export function anotherClient(view) {
  const { words } = view;
  const known = choicesOf(view.state);
  const choice = known.includes(view.another) ? view.another : known[0];
  const submit = (event) => {
    event.preventDefault();
    const chosen = new FormData(event.target); // what stands there now, be it drawn since or not
    view.command(another(view.state, view.topicName, chosen.get("kind"), chosen.get("group")));
  };
  return h("form", { key: "another", class: "config-form", "data-another": "", onsubmit: submit },
    h("select", {
      key: "kind", name: "kind", "aria-label": words.t("another.kind"), "data-another-kind": "", value: choice,
      onchange: (event) => view.set({ another: event.target.value })
    }, known.map((one) => h("option", { key: one, value: one }, words.t(`another.${one}`)))),
    choice !== "transactional" && h("input", {
      key: "group", name: "group", autocomplete: "off", "aria-label": "group.id", placeholder: GROUPS[choice], maxlength: 100
    }),
    h("button", { key: "start", disabled: !view.topicName }, words.t("do.start_client")),
    h("p", { key: "hint", class: "hint" }, words.t(`another.${choice}.hint`)));
}
