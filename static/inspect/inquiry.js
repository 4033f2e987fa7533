/**
 * What the views want to know more closely than the state says: asked for once, again while they show it.
 *
 * A view calls `get(of, name)` while it describes itself and gets the last answer, or null. Whatever was
 * asked for in the last second is asked again every EVERY_MS while something happens; the rest is forgotten.
 * Answers are of the cluster as it is now, also while the viewer looks at the past.
 */
const EVERY_MS = 700;
const WANTED_MS = 1500;
const KEPT = 40;

export class Inquiry {
  /** `ask({what, of, name})` resolves with {ok, t, found} or {ok: false, error}. */
  constructor(ask, changed, now = () => performance.now()) {
    Object.assign(this, { ask, changed, now });
    this.known = new Map(); // "of name" -> {of, name, found, t, error, asked, wanted, waiting}
    this.open = false;
  }

  #entry(of, name) {
    const key = `${of} ${name}`;
    let entry = this.known.get(key);
    if (!entry) this.known.set(key, (entry = { of, name, found: null, t: 0, error: null, asked: -Infinity, wanted: 0, waiting: false }));
    return entry;
  }

  /** The last answer, with `found` (null before the first one), `t` and `error`. `once`: it never changes. */
  get(of, name = "", once = false) {
    const entry = this.#entry(of, String(name));
    entry.wanted = this.now();
    entry.once = once;
    if (entry.asked === -Infinity) this.#ask(entry);
    return entry;
  }

  /** Ask now; resolves with the entry. */
  fresh(of, name = "") {
    return this.#ask(this.#entry(of, String(name)), true);
  }

  async #ask(entry, force = false) {
    if (!this.open || (entry.waiting && !force)) return entry;
    entry.waiting = true;
    entry.asked = this.now();
    const answer = await this.ask({ what: "inspect", of: entry.of, name: entry.name });
    entry.waiting = false;
    if (answer.ok) Object.assign(entry, { found: answer.found, t: answer.t, error: null });
    else if (!answer.lost) entry.error = answer.problem;
    this.changed();
    return entry;
  }

  /** Ask again for what is shown; called now and then. */
  tick() {
    const now = this.now();
    for (const [key, entry] of this.known) {
      const shown = now - entry.wanted < WANTED_MS;
      if (shown && now - entry.asked >= EVERY_MS && !(entry.once && entry.found)) this.#ask(entry);
      else if (!shown && this.known.size > KEPT && !entry.waiting) this.known.delete(key);
    }
  }

  /** Another run: nothing is known. */
  reset() {
    this.known.clear();
  }
}
