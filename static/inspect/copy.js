/** Text for the clipboard, also on a page that came over plain http from elsewhere: there a browser gives no clipboard. */

/** Whether it is there now. */
export async function copyText(text, { clipboard = globalThis.navigator?.clipboard, page = globalThis.document } = {}) {
  try {
    await clipboard.writeText(text);
    return true;
  } catch {
    return bySelection(text, page);
  }
}

/** The old way: a field that nobody sees is selected and copied. */
function bySelection(text, page) {
  const before = page.activeElement;
  const field = page.createElement("textarea");
  field.value = text;
  field.className = "unseen";
  field.readOnly = true;
  (page.querySelector("dialog[open]") ?? page.body).append(field);
  field.select();
  const done = page.execCommand?.("copy") ?? false;
  field.remove();
  before?.focus();
  return done;
}
