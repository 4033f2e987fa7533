/** Texts that come with a document, in each language: {en, ko}. */

/** The one in the reader's language; English when there is no other. */
export const told = (texts, words) => texts?.[words.language] ?? texts?.en ?? "";
