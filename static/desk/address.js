/**
 * What the part of an address behind the # opens: the glossary's links, and those that people share.
 *
 * | address | opens |
 * |---|---|
 * | #lesson=acks-1 | the lesson |
 * | #setting=retention.ms | the settings, with this one looked for |
 * | #metric=LeaderCount | the metrics |
 * | #run=NAME, #run=NAME/5618000 | a run of the lab's directory, at this moment (`Desk.#greet`) |
 * | #proof=acks-1//5618000 | a run of the lesson (of a course: acks-1/fork/...) at this moment |
 * | #scenario=... | a scenario that somebody has packed into a link (`lessons.visit`) |
 */
const SHAPE = /^#(lesson|setting|metric)=([\w.-]+)$|^#(proof)=([\w.-]+\/[\w.+-]*\/\d+)$/;

const OPENERS = {
  lesson(app, name) {
    if (app.desk.panel !== "scenarios") app.desk.show("scenarios");
    return app.desk.lessons.pick(name);
  },
  proof(app, place) {
    const [lesson, course, micros] = place.split("/");
    return app.desk.lessons.prove(lesson, course.replace("+", "/"), Number(micros));
  },
  setting(app, name) {
    app.showTab("config");
    app.set({ configOf: null, configFind: name, configEdit: null });
  },
  metric(app) {
    app.showTab("metrics");
    app.set({ metricsAll: true });
  },
};

/** Open what an address names; false when it names none of these. */
export function openAddress(app, hash) {
  const [what, name] = SHAPE.exec(hash)?.slice(1).filter(Boolean) ?? [];
  if (!what) return false;
  OPENERS[what](app, name);
  return true;
}

/** The address the page was opened with, and every other that a link of it leads to. */
export function followAddresses(app) {
  const look = () => {
    if (openAddress(app, location.hash)) history.replaceState(null, "", location.pathname); // the same link works twice
  };
  addEventListener("hashchange", look);
  look();
}
