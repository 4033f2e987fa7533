/** How wide words are in the picture, before they are drawn. No DOM. */
import { count } from "../i18n/format.js";

export const SMALL = 11.5; // the size of all letters that are drawn
export const LETTER = 7.1; // width of a digit in a cell
const WIDE = 12; // of a Korean letter

export const wideAs = (text) => [...text].reduce((sum, sign) => sum + (sign < "\u1100" ? LETTER : WIDE), 0);

/** A count that fits into `room` pixels: 1,402, else 1.4k. */
export function brief(n, room) {
  const whole = count(n);
  if (whole.length * LETTER <= room) return whole;
  return n < 1e6 ? `${Number((n / 1e3).toPrecision(2))}k` : `${Number((n / 1e6).toPrecision(2))}M`;
}
