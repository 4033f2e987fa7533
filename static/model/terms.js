/**
 * Terms in a text: where the catalogue's words stand, each at its first place.
 *
 *     new Terms([{ id: "isr", name: "ISR", words: ["ISR", "in sync"], ... }], "en").split("The ISR shrinks.")
 *     -> ["The ", { id: "isr", text: "ISR" }, " shrinks."]
 *
 * | language | a word begins | and ends |
 * |---|---|---|
 * | English | where no letter, digit or part of a name (`orders-0`, `leader_epoch`, `/controller`) stands before it | likewise; with an s or not |
 * | Korean | likewise | before what is no Hangul, or before a particle: 리더가, 팔로워에게 |
 *
 * A small letter stands for a capital too, as at the beginning of a sentence; capitals are themselves (ISR). The longest
 * word wins: "leader epoch" is not "leader". What stands between backquotes is code and is left alone.
 */
const LETTER = "\\p{L}\\p{N}_";
const BEFORE = `(?<![${LETTER}/]|[${LETTER}][.\\-:])`;
const AFTER = `(?![${LETTER}]|[.\\-/:][${LETTER}])`;
const PARTICLES = "이|가|은|는|을|를|의|에|로|으|와|과|도|만|부|까|마|들|인|일|라|란|나|처|보|하|한|된|되|끼|별|째|였|입|뿐|씩";
const AFTER_KOREAN = `(?![A-Za-z0-9_]|[.\\-/:][A-Za-z0-9_])(?=$|[^가-힣]|${PARTICLES})`;
const MOST_KNOWN = 1000;
const CODE = /`[^`]*`/g;

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** A word as a pattern: spaces of any kind, the first letter of either case. */
function pattern(word, english) {
  const [first] = word;
  const lower = english && first === first.toLowerCase() && first !== first.toUpperCase();
  const start = lower ? `[${first}${first.toUpperCase()}]` : escaped(first);
  const rest = escaped(word.slice(first.length)).replace(/ /g, "\\s+");
  return start + rest + (english && !/s$/.test(word) ? "s?" : "");
}

export class Terms {
  constructor(terms, language) {
    this.all = new Map(terms.map((term) => [term.id, term]));
    this.english = language === "en";
    this.words = [];
    for (const { id, words } of terms) for (const word of words) this.words.push({ id, word });
    this.words.sort((a, b) => b.word.length - a.word.length);
    const each = this.words.map(({ word }) => `(${pattern(word, this.english)})`).join("|");
    this.known = new Map(); // texts that were split before: the page draws them ten times a second
    this.search = each ? new RegExp(`${BEFORE}(?:${each})${this.english ? AFTER : AFTER_KOREAN}`, "gu") : null;
  }

  get(id) {
    return this.all.get(id) ?? null;
  }

  /** [text | {id, text}]: each term once. */
  split(text) {
    if (!this.known.has(text)) {
      if (this.known.size >= MOST_KNOWN) this.known.clear();
      this.known.set(text, this.search ? this.#split(text) : [text]);
    }
    return this.known.get(text);
  }

  #split(text) {
    const parts = [];
    const told = new Set();
    const codes = [...text.matchAll(CODE)].map(({ index, 0: code }) => [index, index + code.length]);
    let from = 0;
    for (const found of text.matchAll(this.search)) {
      const { id } = this.words[found.findIndex((one, group) => group > 0 && one !== undefined) - 1];
      if (told.has(id) || codes.some(([begin, end]) => found.index >= begin && found.index < end)) continue;
      told.add(id);
      if (found.index > from) parts.push(text.slice(from, found.index));
      parts.push({ id, text: found[0] });
      from = found.index + found[0].length;
    }
    if (from < text.length) parts.push(text.slice(from));
    return parts;
  }
}
