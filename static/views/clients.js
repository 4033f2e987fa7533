/** The clients behind "+n more" on the stage: who they are, what each does; one can be chosen for the inspector. */
import { h } from "./patch.js";
import { foldedClients } from "./sides.js";

export function clientsDialog(view) {
  const { words } = view;
  const found = foldedClients(view, view.folded);
  const choose = (kind, name) => {
    view.closeDialog("clients-dialog");
    view.inspectClient(kind, name);
  };
  return [
    h("div", { key: "head", class: "panel-head" }, h("h2", { id: "clients-title" }, words.t("clients.title", { n: found.length })),
      h("button", {
        type: "button", class: "round", "data-clients": "close", "aria-label": words.t("close"),
        onclick: () => view.closeDialog("clients-dialog")
      }, "×")),
    h("p", { key: "hint", class: "hint" }, words.t(found.length ? "clients.hint" : "clients.none")),
    h("ul", { key: "list", class: "clients" }, found.map(({ kind, name, shown, text }) => h("li", { key: `${kind}:${name}` },
      h("button", { type: "button", class: "card-button", "data-folded-client": name, onclick: () => choose(kind, name) },
        h("b", {}, shown),
        h("span", { class: "hint" }, text))))),
  ];
}
