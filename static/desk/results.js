/** What somebody has made of the lessons, kept in his browser: the best of each, from one visit to the next. */
const KEPT = "lab-lessons";
const BEST = ["right", "near", "wrong", "seen"];

export class Results {
  constructor(storage = globalThis.localStorage) {
    this.storage = storage;
    this.all = {}; // name -> "right" | "near" | "wrong" | "seen" (there was nothing to predict)
    try {
      const kept = JSON.parse(storage?.getItem(KEPT) ?? "{}");
      for (const [name, grade] of Object.entries(kept)) if (BEST.includes(grade)) this.all[name] = grade;
    } catch {
      storage.removeItem(KEPT);
    }
  }

  /** A lesson was seen to its end; a worse result than before changes nothing. */
  take(name, grade = "seen") {
    const before = this.all[name];
    if (before && BEST.indexOf(before) <= BEST.indexOf(grade)) return;
    this.all = { ...this.all, [name]: grade };
    this.storage?.setItem(KEPT, JSON.stringify(this.all));
  }

  /** Begin again. */
  forget() {
    this.all = {};
    this.storage?.removeItem(KEPT);
  }
}
