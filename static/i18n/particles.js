/**
 * Korean particles follow the sound that the word before them ends with.
 *
 *     브로커 1(일)이   브로커 2(이)가   3(삼)으로   1(일)로   10(십)을   orders-0(영)은
 *
 * `ending` hears the last letter, number or Latin word: "" for a vowel, "l" for ㄹ (which takes 로,
 * not 으로), "c" for any other consonant. Closing brackets and quotes are not heard.
 */
const HANGUL = 0xac00;
const DIGITS = ["c", "l", "", "c", "", "", "c", "l", "l", ""]; // 영 일 이 삼 사 오 육 칠 팔 구
const NAMES = { l: "l", r: "l", m: "c", n: "c" }; // 엘 알 엠 엔; every other letter's name ends in a vowel

function endingOfNumber(text) {
  const digits = /(\d[\d,]*)$/.exec(text)[1].replaceAll(",", "");
  if (/\.\d+$/.test(text)) return DIGITS[Number(digits.at(-1))];
  const zeros = /0*$/.exec(digits)[0].length;
  if (zeros === 0 || zeros === digits.length) return DIGITS[Number(digits.at(-1))];
  return "c"; // 십 백 천 만 억
}

function endingOfLatin(word) {
  if (/^[A-Z]+$/.test(word)) return NAMES[word.at(-1).toLowerCase()] ?? "";
  const low = word.toLowerCase();
  if (/(l|le)$/.test(low)) return "l";
  if (/(m|n|ng|me|ne)$/.test(low)) return "c";
  if (/[aeiou](c|ck|k|p|b)$/.test(low)) return "c";
  if (/[aeiou]t$/.test(low) && low.length <= 4) return "c";
  if (/er$|or$|ar$/.test(low)) return "";
  return "";
}

/** How the text ends: "" vowel, "l" ㄹ, "c" another consonant. */
export function ending(text) {
  const heard = text.replace(/[\s)\]}>"'”’」』.,:;!?]+$/u, "");
  if (!heard) return "";
  const code = heard.charCodeAt(heard.length - 1);
  if (code >= HANGUL && code <= 0xd7a3) {
    const final = (code - HANGUL) % 28;
    return final === 0 ? "" : final === 8 ? "l" : "c";
  }
  if (/\d$/.test(heard)) return endingOfNumber(heard);
  const word = /[A-Za-z]+$/.exec(heard);
  return word ? endingOfLatin(word[0]) : "";
}

/** The particle of a pair "이/가" (after a consonant / after a vowel) that fits after `text`. */
export function particle(text, pair) {
  const [closed, open] = pair.split("/");
  const heard = ending(text);
  if (closed.startsWith("으") && heard === "l") return open;
  return heard === "" ? open : closed;
}
