/** What was otherwise in other eras of Kafka: asked for once, when somebody looks at a setting. */
import { api } from "../net/api.js";

export class Eras {
  constructor(app, ask = api) {
    Object.assign(this, { app, ask });
    this.all = null; // [{of, name, values: {era: value}, since, by, why}]
  }

  /** Those of this name, of whichever of `kinds` ("broker", "producer", "consumer"); none before they are known. */
  of(name, kinds = ["producer", "consumer", "broker"]) {
    return this.#known().filter((one) => one.name === name && kinds.includes(one.of));
  }

  /** What has another value in one era than in another one. */
  between(one, other) {
    return this.#known().filter(({ values }) => values[one] !== values[other]);
  }

  #known() {
    if (!this.all) {
      this.all = [];
      this.#load();
    }
    return this.all;
  }

  async #load() {
    try {
      this.all = (await this.ask("/eras")).items;
      this.app.set({});
    } catch {
      this.all = null; // the server is away: asked again by who looks next
    }
  }
}
