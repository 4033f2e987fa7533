/** The drawer at the right: runs, scenarios or the receipt; and the buttons in the header that open it. */
import { receiptPanel } from "./receipt.js";
import { runsPanel } from "./runs.js";
import { scenariosPanel } from "./scenarios.js";
import { sparkButton } from "./spark/buttons.js";
import { h } from "./patch.js";

const PANELS = { scenarios: scenariosPanel, runs: runsPanel, receipt: receiptPanel };

export function deskButtons(view) {
  const { words, desk } = view;
  return [...Object.keys(PANELS).map((name) => h("button", {
    key: name, type: "button", "data-panel": name, class: desk.panel === name ? "on" : "", "aria-expanded": String(desk.panel === name),
    "aria-controls": "drawer", onclick: () => desk.show(name),
  }, words.t(`${name}.button`, { run: desk.run ?? "" }))), sparkButton(view)];
}

/** What stands in the drawer; nothing while it is closed. */
export function drawer(view) {
  const { words, desk } = view;
  if (!desk.panel) return [];
  const page = desk.panel === "scenarios" ? `scenarios ${desk.lessons.one?.name ?? ""}` : desk.panel; // another one begins at its top
  return [
    h("div", { key: "head", class: "panel-head" }, h("h2", { id: "drawer-title" }, words.t(`${desk.panel}.title`)),
      h("button", { type: "button", class: "round", "data-drawer": "close", "aria-label": words.t("close"), onclick: () => desk.close() }, "×")),
    h("div", { key: page, class: "drawer-body", tabindex: "0", role: "group", "aria-labelledby": "drawer-title" }, PANELS[desk.panel](view)),
  ];
}
