/**
 * A record that is written by hand: fields of the form -> what the command says of it. No DOM.
 *
 *     {key: "a", value: "1", headers: "source=web, empty"}  ->  {key: "a", value: "1", headers: {source: "web", empty: null}}
 *     {value: "1", other_acks: "2"}                         ->  {value: "1", acks: "2"}    which no broker takes
 *     {value: "1", to: "3", damaged: "on"}                  ->  {value: "1", to: 3, damaged: true}   refused as well
 *     {key: "a", tombstone: "on"}                           ->  {key: "a", value: null}
 */

/** Each header: a name, and behind "=" what is between quotes (a quote in it stands twice) or all up to the next comma. */
const HEADER = /([^,=]*)(?:=\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*)))?(?:,|$)/g;

/** 'source=web, empty, route="a, b"' -> {source: "web", empty: null, route: "a, b"}; a name alone is a header without value. */
export function headersOf(text) {
  const found = {};
  for (const [, name, quoted, plain] of text.matchAll(HEADER)) {
    if (name.trim()) found[name.trim()] = quoted?.replaceAll('""', '"') ?? plain?.trim() ?? null;
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
