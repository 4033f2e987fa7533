/**
 * Steps in time take along what is looked at closely:
 *
 *     batch      while bytes are shown, those of the batch that the event of the moment is about
 *     message    while a message is looked at, the one of the moment; where its bytes were shown, its bytes again
 *
 * Bytes of a message may have to be made by executing the run again, so they are asked for once nobody steps any more,
 * one question at a time. A moment without a batch or a message says so in its panel.
 */
import { messageKey, requestAt } from "../model/request.js";
import { questionOf } from "../model/flights.js";
import { SILENT } from "../model/progress.js";

const CALM_MS = 350;

export class Attend {
  /** `later(act, ms)` calls `act` once `ms` have passed and answers what `never` takes. */
  constructor(app, later = (act, ms) => setTimeout(act, ms), never = (timer) => clearTimeout(timer)) {
    Object.assign(this, { app, later, never });
    this.expected = false; // a step of the cluster itself, whose events are still to come
  }

  /** The step has led to right behind the event at `position` (null: to the live edge). */
  to(position) {
    const { app } = this;
    if (position === null || !app.history.at(position)) {
      app.set({ selected: null });
      return;
    }
    if (app.ledgerView !== "batches") app.light(position);
    else app.set({ selected: position });
    if (app.looked === null || app.looked === position) return;
    app.set({ looked: position, messageLit: null });
    if (app.messages.shown) this.#soon();
  }

  /** New events at the live edge, up to `end`: those of a step that was asked for. */
  heard(end) {
    if (!this.expected) return;
    let position = end - 1;
    while (this.app.history.at(position) && SILENT.has(this.app.history.at(position).code)) position -= 1;
    this.expected = false;
    this.to(position);
  }

  #soon() {
    this.never(this.timer);
    this.timer = this.later(() => this.#ask(), CALM_MS);
  }

  #ask() {
    const { messages, history, looked } = this.app;
    const event = looked === null ? null : history.at(looked);
    const request = event && requestAt(history, looked);
    if (!request) return;
    if (messages.shown?.waiting) {
      this.#soon();
      return;
    }
    const side = event.code === "response_sent" ? "answer" : "request";
    const of = messageKey(request);
    if (messages.shown?.of === of && messages.shown.side === side) return;
    const question = questionOf(request, side === "answer");
    if (question) messages.ask(of, side, question);
  }
}
