/** REST from the page: JSON in, JSON out; what is refused is thrown with the reason that the server gives. */
export class Refusal extends Error {
  constructor(status, text, { place = null, code = null, line = null, problem = null } = {}) {
    super(place ? `${place}: ${text}` : text);
    Object.assign(this, { status, place, code, line, problem });
  }
}

/** What stands in front of all addresses of this page: a lab beside the server's own has `/labs/NAME`. */
export const base = /^\/labs\/[^/]+/.exec(globalThis.location?.pathname ?? "")?.[0] ?? "";

async function answerOf(response) {
  const text = await response.text();
  let found = null;
  try {
    found = text ? JSON.parse(text) : null;
  } catch {
    found = { title: text.slice(0, 200) };
  }
  if (!response.ok) throw new Refusal(response.status, found?.detail ?? found?.title ?? response.statusText, found ?? {});
  return found;
}

async function ask(address, body, method = body === undefined ? "GET" : "POST") {
  const options = body === undefined ? { method } : { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return answerOf(await fetch(address, options));
}

/** `api("/scenarios")`, `api("/scenarios/acks-1/run", {seed: 7})`: with a body it is a POST. */
export const api = (path, body, method) => ask(`${base}/api${path}`, body, method);

/** What the server knows and no lab does, people and classes: it answers when the lab of this page is gone, too. */
export const ofServer = (path, body, method) => ask(`/api${path}`, body, method);

/** A file as it is: the body of a POST. */
export async function send(path, file, kind) {
  return answerOf(await fetch(`${base}/api${path}`, { method: "POST", headers: { "content-type": kind }, body: file }));
}
