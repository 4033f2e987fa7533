/**
 * A record that is written by hand: fields of the form -> what the command says of it. No DOM.
 *
 *     {key: "a", value: "1", headers: "source=web, empty"}  ->  {key: "a", value: "1", headers: {source: "web", empty: null}}
 *     {value: "1", other_acks: "2"}                         ->  {value: "1", acks: "2"}    which no broker takes
 *     {value: "1", to: "3", damaged: "on"}                  ->  {value: "1", to: 3, damaged: true}   refused as well
 *     {key: "a", tombstone: "on"}                           ->  {key: "a", value: null}
 */

/** "source=web, empty" -> {source: "web", empty: null}; a name without a value is a header without one. */
export function headersOf(text) {
  const found = {};
  for (const part of text.split(",")) {
    const at = part.indexOf("=");
    const name = (at < 0 ? part : part.slice(0, at)).trim();
    if (name) found[name] = at < 0 ? null : part.slice(at + 1).trim();
  }
  return found;
}

/** `usual`: the value where none was typed. */
export function written({ key = "", value = "", tombstone, headers = "", other_acks: acks = "", to = "", damaged }, usual) {
  const given = headersOf(headers);
  const more = Object.keys(given).length ? { headers: given } : {};
  const wrong = { ...(acks ? { acks } : {}), ...(to === "" ? {} : { to: Number(to) }), ...(damaged ? { damaged: true } : {}) };
  return { value: tombstone ? null : value || usual, ...(key ? { key } : {}), ...more, ...wrong };
}
