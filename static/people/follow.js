/**
 * A teacher leads, a class follows: pages of the lab that look at the same lab, run and moment.
 *
 *     /?lead=CODE   -> what this page looks at -> POST /api/classes/CODE/lead     at each change, and now and then
 *     /?follow=1    -> GET /api/me/lead?since=&wait=25 -> lab, run, moment of this page
 *
 * A class stands where its teacher has pressed: while he plays, a follower's own clock plays at the same speed.
 */
import { base, ofServer } from "../net/api.js";
import { leaveFor } from "./leave.js";

const LOOK_MS = 400;
const AGAIN_MS = 8000; // the server forgets a lead that is not renewed for 20 s
const AWAY_MS = 3000;
const JUMP_US = 1_500_000; // a playing follower that is nearer than this is left alone
const later = (ms) => new Promise((done) => setTimeout(done, ms));

/** The lesson that is open beside the picture. */
const lessonOf = (desk) => (desk.panel === "scenarios" && !desk.lessons.one?.own ? desk.lessons.one?.name ?? null : null);

/** What a page looks at. */
export function lookOf(app) {
  const { clock, desk } = app;
  const isNow = clock.live && (desk.run === desk.live || !desk.live);
  const moment = isNow ? null : Math.round(clock.live ? clock.history.timeAt(clock.viewed) : clock.t);
  return {
    lab: base, run: desk.run === desk.live ? null : desk.run, lesson: lessonOf(desk), t_us: moment,
    playing: Boolean(clock.playing) && !isNow, speed: clock.speed ?? 1,
  };
}

/** Whether a class that stands at `before` has to be told of `now`: a clock that merely plays on needs no telling. */
export function differs(before, now) {
  if (before === null) return true;
  const same = ["lab", "run", "lesson", "playing", "speed"].every((key) => before[key] === now[key]);
  return !same || (now.playing ? false : before.t_us !== now.t_us);
}

function banner(app, key, leave) {
  const bar = document.createElement("p");
  bar.className = "banner follow";
  bar.dataset.follow = key;
  bar.setAttribute("role", "status");
  const text = document.createElement("span");
  const button = Object.assign(document.createElement("button"), { type: "button", onclick: leave });
  bar.append(text, " ", button);
  document.getElementById("banners").before(bar);
  const say = (suffix = "") => {
    text.textContent = app.words.t(`follow.${key}${suffix}`);
    button.textContent = app.words.t(`follow.${key}.leave`);
  };
  say();
  return say;
}

const leave = () => leaveFor(globalThis.location.pathname);

async function lead(app, code) {
  let before = null;
  let told = 0;
  banner(app, "lead", async () => {
    await ofServer(`/classes/${code}/lead`, undefined, "DELETE").catch(() => null);
    leave();
  });
  for (;;) {
    const now = lookOf(app);
    if (differs(before, now) || performance.now() - told > AGAIN_MS) {
      try {
        await ofServer(`/classes/${code}/lead`, now);
        before = now;
        told = performance.now();
      } catch {
        await later(AWAY_MS);
      }
    }
    await later(LOOK_MS);
  }
}

/** Bring a page to where the teacher is; false when it cannot get there. */
export async function goTo(app, look) {
  const { clock, desk } = app;
  if (look.lesson && look.lesson !== lessonOf(desk)) {
    if (desk.panel !== "scenarios") desk.show("scenarios");
    await desk.lessons.pick(look.lesson);
  } else if (!look.lesson && desk.panel === "scenarios") desk.close();
  const run = look.run ?? desk.live;
  if (run && desk.run !== run) await desk.look(run);
  if (look.t_us === null) {
    clock.goLive();
    return;
  }
  const isNear = look.playing && clock.playing && Math.abs(clock.t - look.t_us) < JUMP_US;
  await desk.past.toTime(look.t_us);
  if (!isNear) clock.goTime(look.t_us);
  Object.assign(clock, { speed: look.speed, playing: look.playing });
  app.set({});
}

/** Whether a page of the lab may be looked at from here; the server's own one always. */
async function isOpen(lab) {
  if (!lab) return true;
  return ofServer(lab).then(() => true, () => false);
}

async function follow(app) {
  const say = banner(app, "follow", leave);
  let since = 0;
  for (;;) {
    try {
      const { version, look } = await ofServer(`/me/lead?since=${since}&wait=25`);
      const isNew = version !== since;
      since = version;
      if (look === null) say(".waits");
      else if (look.lab !== base) {
        if (await isOpen(look.lab)) {
          leaveFor(`${look.lab}/?follow=1`);
          return;
        }
        say(".elsewhere");
      } else if (isNew) {
        say();
        await goTo(app, look);
      }
    } catch {
      await later(AWAY_MS);
    }
    await later(LOOK_MS);
  }
}

/** What the address asks for. */
export function begin(app, search) {
  const wanted = new URLSearchParams(search);
  if (wanted.get("lead")) lead(app, wanted.get("lead"));
  else if (wanted.get("follow")) follow(app);
}
