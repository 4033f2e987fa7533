/** One piece of work behind the server: started, asked after until it has ended, cancelled. */
import { api } from "../../net/api.js";

const ASK_EVERY_MS = 600;
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
export const OPEN = ["queued", "running"];

export class Work {
  constructor(app) {
    this.app = app;
    this.found = null; // what the server told last
    this.error = null;
    this.cancel = this.cancel.bind(this);
  }

  get running() {
    return this.found !== null && OPEN.includes(this.found.state);
  }

  /** Begin; answers when the work has ended. */
  async begin(path, body, home) {
    this.error = null;
    try {
      this.found = await api(path, body);
      await this.follow(home);
    } catch (error) {
      this.error = error.line ? this.app.words.t("spark.line", { line: error.line, text: error.message }) : error.message;
    }
    this.app.set({});
  }

  /** Ask until it has ended; `home`: the address of a piece of work by its id. */
  async follow(home) {
    const { id } = this.found;
    this.home = home(this.found);
    this.app.set({});
    while (this.running && this.found.id === id) {
      await pause(ASK_EVERY_MS);
      const found = await api(this.home);
      if (this.found?.id !== id) return;
      this.found = found;
      this.app.set({});
    }
  }

  async cancel() {
    try {
      await api(this.home, undefined, "DELETE");
    } catch (error) {
      this.error = error.message;
    }
    this.app.set({});
  }
}
