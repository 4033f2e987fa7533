/**
 * Puts the parts together: wire -> feed -> history -> clock -> views, once in each animation frame.
 */
import { App } from "./app.js";
import { Catalogue } from "./i18n/catalogue.js";
import { eventOf } from "./model/reduce.js";
import { Story, TOLD_ONLY } from "./model/story.js";
import { connect } from "./inspect/open.js";
import { base } from "./net/api.js";
import { begin as beginFollowing } from "./people/follow.js";
import { Feed } from "./net/feed.js";
import { Socket } from "./net/socket.js";
import { Clock } from "./time/clock.js";
import { History } from "./time/history.js";
import { Screen } from "./views/screen.js";
import { listen } from "./views/listen.js";

const REST_MS = 45;
const CALM_MS = 70; // for some twelve frames a second
const data = (id) => JSON.parse(document.getElementById(id).textContent);

const history = new History();
const story = new Story(data("levels"));
const clock = new Clock(history);
const app = new App({ history, story, clock, words: new Catalogue(data("catalogue")) });
const feed = new Feed(history, story, clock);
const screen = new Screen(app);

data("earlier").forEach((row, index, rows) => story.add(eventOf(row, 0), TOLD_ONLY + index - rows.length));
feed.apply([data("snapshot")], performance.now());
const socket = new Socket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${base}/live/`, () => feed.known());
feed.resync = (last) => socket.resync(last);
feed.synced = () => socket.synced();
feed.onevents = (events, first) => screen.happened(events, first);
feed.onrun = (run) => app.desk.arrived(run);
app.send = (command) => socket.command(command);
socket.onstate = () => app.set({ online: socket.open, everOnline: app.everOnline || socket.open });

listen(app);
const slept = Number(document.body.dataset.slept);
if (slept) app.notice(app.words.t("lab.slept", { s: slept }), "news");
connect(app, socket, screen);
app.desk.open(socket, feed);
beginFollowing(app, location.search);

/** Apply what has come; answers whether the picture is another one. Single messages show in Inspect, and while the cluster stands. */
function take(messages, wall) {
  const { end } = history;
  if (!messages.length) return false;
  const changed = feed.apply(messages, wall);
  return changed || (history.end !== end && (app.mode === "inspect" || clock.cluster.paused));
}

function frame(wall) {
  if (take(socket.drain(), wall)) screen.news = true;
  if (clock.tick(wall)) app.dirty = true;
  app.follow.look();
  screen.frame(wall);
  // A picture in which nothing moves needs no sixty frames a second: the figures of a running cluster change slower.
  if (screen.moves ? !screen.calm : app.dirty) requestAnimationFrame(frame);
  else setTimeout(() => requestAnimationFrame(frame), screen.moves ? CALM_MS : REST_MS);
}

requestAnimationFrame(frame);
globalThis.lab = { app, feed, socket, history, story, clock, screen }; // for those who look into the page
