/**
 * Who was the controller before the one of this moment, while that is what the picture is about: as long as it is down,
 * while nobody is controller, and for some seconds behind an election. Was and now stand side by side.
 */
const FRESH_US = 10_000_000;
const LOOK_BACK = 2;

/** The last elections of another broker each before `position`, newest first: [{broker, epoch, t}]. */
export function elections(items, position, most = LOOK_BACK) {
  const found = [];
  for (let index = items.length - 1; index >= 0 && found.length < most; index -= 1) {
    const { code, positions, first } = items[index];
    if (code !== "controller_elected" || positions[0] >= position) continue;
    const { broker, epoch } = first.params;
    if (found.at(-1)?.broker !== broker) found.push({ broker, epoch, t: first.t });
  }
  return found;
}

/** {broker, epoch} of the one before, or null. */
export function formerController({ story, clock, state }) {
  const { controller } = state.cluster;
  const [last, before] = elections(story.items, clock.viewed);
  const was = controller === null ? last : before;
  if (!was || was.broker === controller || !(String(was.broker) in state.brokers)) return null;
  const down = state.brokers[was.broker].state !== "running";
  return down || controller === null || clock.viewedTime - last.t < FRESH_US ? was : null;
}
