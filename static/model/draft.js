/**
 * Copy on write along one path.
 *
 * A state is never changed once it has been handed out. A Draft is a new state in the making: `own`
 * copies each object on the way to a place the first time, and only the first time, so that a batch
 * of a thousand events copies a topic once and shares everything it does not touch.
 *
 *     const draft = new Draft(state);
 *     draft.own("topics", "orders", "partitions", "0").leader = 2;
 *     const next = draft.finish();     // next.topics.billing === state.topics.billing
 */
export class Draft {
  constructor(state) {
    this.before = state;
    this.root = { ...state };
    this.fresh = new Set([this.root]);
  }

  /** The object at `path`, ready to be written to; null when there is nothing on the way. */
  own(...path) {
    let here = this.root;
    for (const key of path) {
      const child = here[key];
      if (child === null || typeof child !== "object") return null;
      if (this.fresh.has(child)) {
        here = child;
        continue;
      }
      const copy = Array.isArray(child) ? [...child] : { ...child };
      this.fresh.add(copy);
      here[key] = copy;
      here = copy;
    }
    return here;
  }

  /** As `own`, but makes empty objects where there is nothing. */
  make(...path) {
    let here = this.root;
    for (const key of path) {
      if (here[key] === null || typeof here[key] !== "object") {
        here[key] = {};
        this.fresh.add(here[key]);
      } else if (!this.fresh.has(here[key])) {
        here[key] = { ...here[key] };
        this.fresh.add(here[key]);
      }
      here = here[key];
    }
    return here;
  }

  /** The new state, or the old one when nothing was written; the draft must not be used afterwards. */
  finish() {
    const { before, root } = this;
    this.fresh = null;
    for (const name in root) if (root[name] !== before[name]) return root;
    for (const name in before) if (!(name in root)) return root;
    return before;
  }
}
