/**
 * "Follow the leader" (key G): the inspector shows the broker that leads the chosen partition, also after the next
 * election, in the moment that is looked at.
 */
export class Follow {
  constructor(app) {
    this.app = app;
    this.on = false;
    this.shown = null; // "orders-0 2": what was shown last
  }

  /** On, and the leader is shown at once; or off. */
  toggle() {
    const { app } = this;
    this.on = !this.on;
    this.shown = null;
    if (this.on && app.chosen) {
      app.showTab("brokers");
      this.look();
    } else {
      this.on = false;
      app.notice(app.words.t("follow.off"), "news");
    }
  }

  /** Somebody else may lead now, another partition or another moment may be looked at. */
  look() {
    const { app } = this;
    if (!this.on || !app.chosen) return;
    const { leader } = app.chosenPartition;
    const now = `${app.chosen} ${leader}`;
    if (now === this.shown) return;
    this.shown = now;
    const nobody = leader === null || leader === undefined || leader < 0;
    if (!nobody) app.set({ brokerOpen: String(leader), fileBroker: String(leader) });
    app.notice(app.words.t(nobody ? "follow.nobody" : "follow.leader", { partition: app.chosen, leader }), "news");
  }
}
