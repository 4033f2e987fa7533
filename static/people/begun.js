/**
 * What somebody has begun to fill in, in a part of a page that is made anew: it is taken over, as far as the new part has
 * the same form and field.
 */
const forms = (part) => [...part.querySelectorAll("form")];
const name = (form) => form.id || `${form.dataset.post} ${form.dataset.body ?? ""}`;
const chosen = (select) => [...select.selectedOptions].map(({ value }) => value);

function takeOver(from, into) {
  if (from.tagName === "SELECT") {
    const wanted = new Set(chosen(from));
    if (![...into.options].some(({ value }) => wanted.has(value))) return; // what was chosen is gone
    for (const option of into.options) option.selected = wanted.has(option.value);
  } else if (["checkbox", "radio"].includes(from.type)) {
    into.checked = from.checked;
  } else if (!["file", "hidden"].includes(from.type) && from.value !== from.defaultValue) {
    into.value = from.value;
  }
}

/** From the part that goes into the one that takes its place. */
export function keepBegun(old, next) {
  const there = new Map(forms(next).map((form) => [name(form), form]));
  for (const form of forms(old)) {
    const twin = there.get(name(form));
    const fields = [...form.elements].filter((field) => field.name && field.type !== "button" && field.type !== "submit");
    for (const field of twin ? fields : []) {
      const nth = fields.filter((one) => one.name === field.name).indexOf(field);
      const other = [...twin.elements].filter((one) => one.name === field.name && one.type === field.type)[nth];
      if (other) takeOver(field, other);
    }
  }
}
