/**
 * The bytes of one message, asked for when somebody wants to see them: a message of the past is found by
 * executing the run again, which takes a while and tells how far it has come.
 */
export class Messages {
  /** `ask(question, progress)` resolves with the message or {ok: false, error}. */
  constructor(ask, changed) {
    Object.assign(this, { send: ask, changed });
    this.shown = null; // {of, side, found, error, waiting, share}
  }

  /** Show the `side` (request, answer) of the message `of`. */
  async ask(of, side, question) {
    const shown = { of, side, found: null, error: null, waiting: true, share: 0 };
    this.shown = shown;
    this.changed();
    const answer = await this.send(question, (share) => {
      shown.share = share;
      this.changed();
    });
    shown.waiting = false;
    if (answer.ok) shown.found = answer;
    else shown.error = answer.problem;
    this.changed();
  }
}
