/**
 * What somebody did in a run, as a scenario file; and a file as a link. No DOM.
 *
 *     [12.4 s] {do: kill, broker: 1}   ->   - {at: 12.400s, do: kill, broker: 1}
 *
 * A link holds the file itself, compressed, with a checksum in front: eight hex digits of the CRC-32,
 * a dot, base64url of the deflated text. A character that was lost or changed is noticed.
 */

const SPEC_KEYS = ["cluster", "seed", "record_level", "epoch_ms", "topics", "clients"];
const LONGEST = 1_000_000;
const LEAST_US = 5_000_000;

/** {yaml, name, document} of a run: its spec, and its commands as steps. `rows`: [seq, t, code, node, cause, params]. */
export function exportOf(facts, rows, end) {
  const steps = rows.filter((row) => row[5]?.command && row[5].command.do !== "time").map((row) => {
    const { do: verb, ...rest } = row[5].command;
    return { at: time(row[1]), do: verb, ...rest };
  });
  const name = `run-${String(facts.run ?? "lab")}`;
  const spec = Object.fromEntries(SPEC_KEYS.filter((key) => facts.spec?.[key] !== undefined).map((key) => [key, facts.spec[key]]));
  const document = { scenario: name, ...spec, steps, duration: time(Math.max(end, LEAST_US)) };
  return { name, document, yaml: yamlOf(document) };
}

const time = (us) => `${Math.round(us / 1000)}ms`;

/** A plain document as YAML: mappings of the first level in lines, all below in JSON's way, which YAML takes. */
export function yamlOf(document) {
  const lines = [];
  for (const [key, value] of Object.entries(document)) {
    if (Array.isArray(value) && value.length) lines.push(`${key}:`, ...value.map((one) => `  - ${flow(one)}`));
    else lines.push(`${key}: ${flow(value)}`);
  }
  return `${lines.join("\n")}\n`;
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const WORDS = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n"]);

function flow(value) {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (value !== null && typeof value === "object") return `{${Object.entries(value).map(([key, one]) => `${flow(key)}: ${flow(one)}`).join(", ")}}`;
  if (typeof value === "string" && ((PLAIN.test(value) && !WORDS.has(value.toLowerCase())) || /^\d+ms$/.test(value))) return value;
  return JSON.stringify(value);
}

class Damaged extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

let table = null;

/** CRC-32 of bytes, eight hex digits. */
export function crc32(bytes) {
  table ??= Uint32Array.from({ length: 256 }, (_, index) => {
    let value = index;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
  let crc = 0xffffffff;
  for (const byte of bytes) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}

/** Bytes through a stream, at most LONGEST of them. */
async function through(bytes, stream) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    parts.push(value);
    size += value.length;
    if (size > LONGEST) {
      await reader.cancel();
      throw new Damaged("link.large");
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** A text as what stands behind `#scenario=`. */
export async function packed(text) {
  const bytes = new TextEncoder().encode(text);
  const small = await through(bytes, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of small) binary += String.fromCharCode(byte);
  return `${crc32(bytes)}.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The text of a link; throws with `code` when it is not whole. */
export async function unpacked(link) {
  const found = /^([0-9a-f]{8})\.([A-Za-z0-9_-]+)$/.exec(link);
  if (!found) throw new Damaged("link.shape");
  let bytes;
  try {
    const small = Uint8Array.from(atob(found[2].replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    bytes = await through(small, new DecompressionStream("deflate-raw"));
  } catch (error) {
    throw error.code ? error : new Damaged("link.bytes");
  }
  if (crc32(bytes) !== found[1]) throw new Damaged("link.checksum");
  return new TextDecoder().decode(bytes);
}
