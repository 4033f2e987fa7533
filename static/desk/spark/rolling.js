/** Rolling figures of the run that is looked at: on, off, and the last ones that came. */
import { api } from "../../net/api.js";
import { OPEN } from "./work.js";

const ASK_EVERY_MS = 1000;

export class Rolling {
  constructor(app, spark) {
    Object.assign(this, { app, spark, on: false, run: null, found: null, error: null });
    for (const name of ["toggle", "stop"]) this[name] = this[name].bind(this);
  }

  /** What is shown: nothing when another run is looked at. */
  get shown() {
    return this.on && this.run === this.spark.desk.run;
  }

  toggle() {
    return this.shown ? this.stop() : this.start();
  }

  async start() {
    if (this.on) await this.stop();
    const { run } = this.spark.desk;
    Object.assign(this, { on: true, run, found: null, error: null });
    this.app.set({});
    try {
      this.found = await api(`/runs/${run}/rolling`, {});
      this.app.set({});
      await this.#follow(run);
    } catch (error) {
      if (run === this.run) this.error = error.message;
    }
    this.app.set({});
  }

  async #follow(run) {
    const { id } = this.found;
    while (this.on && this.run === run && this.found.id === id && OPEN.includes(this.found.state)) {
      await new Promise((resolve) => { setTimeout(resolve, ASK_EVERY_MS); });
      if (!this.on || this.run !== run) return;
      this.found = await api(`/runs/${run}/rolling`);
      this.app.set({});
    }
    if (this.on && this.run === run && this.found.state === "failed") this.error = this.found.error;
    if (this.on && this.run === run && this.found.state === "cancelled") this.on = false; // the run was closed
  }

  async stop() {
    const { run } = this;
    this.on = false;
    this.app.set({});
    try {
      await api(`/runs/${run}/rolling`, undefined, "DELETE");
    } catch {
      // it has ended by itself
    }
  }
}
