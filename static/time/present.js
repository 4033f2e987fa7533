/**
 * Where an act belongs that a rewound viewer asks for: the past that he sees cannot be changed.
 *
 *     now     the view goes to the live edge, and it is done to the cluster as it is there
 *     fork    a branch begins at the moment that is looked at, and it is done there
 *     null    nothing is done
 *
 * At the live edge nobody is asked.
 */
export const DIALOG = "present-dialog";

export class Present {
  constructor(app) {
    this.app = app;
    this.what = null; // the act in words while the viewer is asked
    this.answer = this.answer.bind(this);
  }

  /** "now", "fork" or null for an act in words; the view is then where it shall be done. */
  async where(what) {
    const { app } = this;
    if (app.clock.live) return "now";
    this.answer(null); // one question at a time: what was asked before is given up
    const chosen = await new Promise((resolve) => {
      Object.assign(this, { what, resolve });
      app.openDialog(DIALOG);
    });
    if (chosen === "now") app.goLive();
    else if (chosen === "fork" && !(await app.desk.forks.at(app.desk.forks.here, [], false))) return null;
    return chosen;
  }

  /** What the viewer has chosen in the dialog. */
  answer(chosen) {
    const { resolve } = this;
    if (!resolve) return;
    this.resolve = null;
    this.app.closeDialog(DIALOG);
    resolve(chosen);
  }
}
