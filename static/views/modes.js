/**
 * Three ways to look at one cluster, with one switch:
 *
 *     learn      the stage, the story beneath it, the next step           for a first visit and for lessons
 *     explore    and the levers, beside what they change                  for trying things out
 *     inspect    and tabs, time lines, bytes                              for knowing exactly
 *
 * What is not shown is not drawn. Whoever looks into something is in `inspect`.
 */
import { segments } from "./levers.js";

export const MODES = ["learn", "explore", "inspect"];

/** Whether a panel of the page is shown; the ledger also where a record is open. */
export function shows({ mode, record, ledgerView }, panel) {
  if (panel === "levers") return mode !== "learn";
  if (panel === "ledger") return mode === "inspect" || opened({ record, ledgerView });
  return mode === "inspect";
}

/** Whether a record is open, in whatever mode. */
export const opened = ({ record, ledgerView }) => record !== null && ledgerView === "record";

export const modeSwitch = (view) => segments(
  "mode", view.words.t("mode"), MODES.map((mode) => [mode, view.words.t(`mode.${mode}`)]), view.mode, (mode) => view.set({ mode }));

/** What the style sheet goes by. */
export function dress(view, { body }) {
  const facts = {
    mode: view.mode, drawer: view.desk.panel ?? "", record: opened(view) ? "open" : "", sheet: view.sheet ? "open" : "",
    topic: view.topicName ?? ""
  };
  for (const [name, value] of Object.entries(facts)) if (body.dataset[name] !== value) body.dataset[name] = value;
}
