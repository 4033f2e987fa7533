/**
 * The WebSocket: says hello, notices gaps, comes back after a loss.
 *
 * Messages are only queued here; `drain` hands them out once in each animation frame. A hidden tab
 * has no frames: when more than QUEUE messages wait they are dropped and a resync is asked for.
 */
const QUEUE = 600;
const WAITS = [300, 700, 1500, 3000, 5000];

const fromTheStart = (run) => ({ run, epoch: 0, last: 0 });

export class Socket {
  /** `known()` answers {run, epoch, last}: what the viewer has already. */
  constructor(url, known, make = (address) => new WebSocket(address)) {
    this.url = url;
    this.known = known;
    this.make = make;
    this.queue = [];
    this.waiting = new Map(); // command id -> resolve
    this.progress = new Map(); // question id -> told which share is done
    this.number = 0;
    this.tries = 0;
    this.open = false;
    this.resyncing = false;
    this.looking = null; // the run that was asked for and has not come yet
    this.onstate = () => {};
    this.#connect();
  }

  #connect() {
    this.socket = this.make(this.url);
    this.socket.onopen = () => {
      this.open = true;
      this.tries = 0;
      this.resyncing = true;
      this.#say({ k: "hello", ...(this.looking === null ? this.known() : fromTheStart(this.looking)) });
      this.onstate();
    };
    this.socket.onmessage = ({ data }) => this.#take(data);
    this.socket.onclose = () => this.#lost();
  }

  #lost() {
    this.open = false;
    this.queue.length = 0;
    for (const resolve of this.waiting.values()) resolve({ ok: false, lost: true });
    this.waiting.clear();
    this.progress.clear();
    this.onstate();
    setTimeout(() => this.#connect(), WAITS[Math.min(this.tries, WAITS.length - 1)]);
    this.tries += 1;
  }

  #take(text) {
    const found = JSON.parse(text);
    for (const message of Array.isArray(found) ? found : [found]) {
      if (message.k === "ack") {
        this.waiting.get(message.id)?.(message);
        this.waiting.delete(message.id);
        this.progress.delete(message.id);
      } else if (message.k === "progress") this.progress.get(message.id)?.(message.share);
      else {
        if (message.k === "snap" && message.run === this.looking) this.looking = null;
        this.queue.push(message);
      }
    }
    if (this.queue.length > QUEUE) {
      this.queue.length = 0;
      this.resyncing = false;
      this.resync(0);
    }
  }

  #say(message) {
    if (this.socket.readyState === 1) this.socket.send(JSON.stringify(message));
  }

  /** All that has come since the last call. */
  drain() {
    return this.queue.splice(0);
  }

  /** Ask for what is missing after `last`, or with 0 for a snapshot; once until an answer comes. */
  resync(last) {
    if (this.resyncing) return;
    this.resyncing = true;
    this.#say({ k: "resync", last });
  }

  /** A snapshot or the missed events have come. */
  synced() {
    this.resyncing = false;
  }

  /** Look at another open run; what comes from now on is of that one, after a loss as well. */
  look(run) {
    this.queue.length = 0;
    this.resyncing = true;
    this.looking = run;
    this.#say({ k: "hello", ...fromTheStart(run) });
  }

  /** Send a command; resolves with {ok, seq, ...} or {ok: false, error, place}. */
  command(command) {
    return this.#ask({ k: "cmd", ...command });
  }

  /** Ask something else ({what, ...}); `progress(share)` is called while the answer is made. */
  ask(question, progress = null) {
    return this.#ask({ k: "ask", ...question }, progress);
  }

  #ask(message, progress = null) {
    if (!this.open) return Promise.resolve({ ok: false, lost: true });
    this.number += 1;
    const id = this.number;
    if (progress) this.progress.set(id, progress);
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.#say({ ...message, id });
    });
  }
}
