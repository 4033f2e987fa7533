/**
 * What somebody has made of the lessons: the best of each, from one visit to the next. A student's is kept by the server
 * and is there in every browser of his; that of anybody else in this browser.
 */
const KEPT = "lab-lessons";
const BEST = ["right", "near", "wrong", "seen"];

export class Results {
  /** `server`: api(path, body, method) of somebody who has joined a class; null for anybody else. */
  constructor(storage = globalThis.localStorage, server = null) {
    Object.assign(this, { storage: server ? null : storage, server });
    this.all = {}; // name -> "right" | "near" | "wrong" | "seen" (there was nothing to predict)
    try {
      this.#known(JSON.parse(this.storage?.getItem(KEPT) ?? "{}"));
    } catch {
      storage.removeItem(KEPT);
    }
  }

  #known(found) {
    this.all = Object.fromEntries(Object.entries(found).filter(([, grade]) => BEST.includes(grade)));
  }

  /** What the server has kept; with nobody behind it nothing is asked. */
  async load() {
    if (this.server) this.#known((await this.server("/me/lessons")).results);
  }

  /** A lesson was seen to its end; a worse result than before changes nothing. */
  async take(name, grade = "seen") {
    const before = this.all[name];
    if (before && BEST.indexOf(before) <= BEST.indexOf(grade)) return;
    this.all = { ...this.all, [name]: grade };
    this.storage?.setItem(KEPT, JSON.stringify(this.all));
    if (this.server) this.#known((await this.server("/me/lessons", { name, grade })).results);
  }

  /** Begin again. */
  async forget() {
    this.all = {};
    this.storage?.removeItem(KEPT);
    if (this.server) await this.server("/me/lessons", undefined, "DELETE");
  }
}
