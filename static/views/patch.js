/**
 * Keyed patching: a view returns a description of its elements, `patch` changes only what differs.
 *
 *     patch(list, items.map((item) => h("li", { key: item.id, class: item.tone }, item.text)))
 *
 * Elements are matched by key, else by place and tag. Attributes are set as attributes; `on*` are
 * handlers, `style` is an object set through the style sheet's own interface (the content security
 * policy allows no style attributes), and value, checked, disabled, hidden are properties.
 */
const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "selected", "textContent"]);
const NONE = Object.freeze({});
const DEEP = 8; // lists of lists of descriptions

/** A description of an element. Falsy children are left out, arrays are taken apart. */
export function h(tag, props, ...children) {
  const flat = [];
  for (const child of children.flat(DEEP)) if (child !== null && child !== undefined && child !== false && child !== "") flat.push(child);
  return { tag, props: props ?? NONE, key: props?.key, children: flat };
}

function setStyle(element, before = NONE, after = NONE) {
  for (const name of Object.keys(before)) if (!(name in after)) element.style.removeProperty(name);
  for (const [name, value] of Object.entries(after)) if (before[name] !== value) element.style.setProperty(name, value);
}

function setProp(element, name, before, after) {
  if (name === "key") return;
  if (name === "style") setStyle(element, before, after);
  else if (name.startsWith("on")) element[name] = after ?? null;
  else if (PROPERTIES.has(name)) {
    if (element[name] !== after) element[name] = after ?? "";
  } else if (after === null || after === undefined || after === false) element.removeAttribute(name);
  else element.setAttribute(name, after === true ? "" : after);
}

function setProps(element, before, after) {
  for (const name of Object.keys(before)) if (!(name in after)) setProp(element, name, before[name], undefined);
  for (const name of Object.keys(after)) {
    if (before[name] !== after[name] || name === "value") setProp(element, name, before[name], after[name]);
  }
}

function make(description, svg) {
  if (typeof description !== "object") return document.createTextNode(String(description));
  const inside = svg || description.tag === "svg";
  const element = inside ? document.createElementNS(SVG, description.tag) : document.createElement(description.tag);
  const { value, ...others } = description.props;
  setProps(element, NONE, others);
  element.described = description;
  patchChildren(element, description.children, inside);
  if (value !== undefined) setProp(element, "value", undefined, value); // a select needs its options first
  return element;
}

function fits(node, description) {
  if (typeof description !== "object") return node.nodeType === 3;
  return node.described?.tag === description.tag && node.described.key === description.key;
}

function update(node, description, svg) {
  if (typeof description !== "object") {
    if (node.data !== String(description)) node.data = String(description);
    return;
  }
  const before = node.described;
  if (before === description) return;
  node.described = description;
  const { value, ...others } = description.props;
  const { value: old, ...othersBefore } = before.props;
  setProps(node, othersBefore, others);
  patchChildren(node, description.children, svg || description.tag === "svg");
  if (value !== undefined) setProp(node, "value", old, value);
}

function patchChildren(parent, descriptions, svg) {
  const keyed = new Map();
  for (let node = parent.firstChild; node; node = node.nextSibling) {
    if (node.described?.key !== undefined) keyed.set(node.described.key, node);
  }
  let place = parent.firstChild;
  let wanted = null;
  // Elements that go make way first: one that stays is not moved, and keeps its focus.
  const pass = (node) => {
    wanted ??= new Set(descriptions.map((one) => one.key));
    while (place && place !== node && place.described?.key !== undefined && !wanted.has(place.described.key)) {
      const gone = place;
      place = place.nextSibling;
      parent.removeChild(gone);
    }
  };
  for (const description of descriptions) {
    let node = null;
    if (description.key !== undefined) {
      const known = keyed.get(description.key);
      if (known && fits(known, description)) node = known;
    } else if (place && fits(place, description)) node = place;
    if (!node) {
      parent.insertBefore(make(description, svg), place);
      continue;
    }
    if (node !== place) pass(node);
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
    update(node, description, svg);
  }
  while (place) {
    const next = place.nextSibling;
    parent.removeChild(place);
    place = next;
  }
}

/** Make the children of `parent` what `descriptions` (one or a list) say. */
export function patch(parent, descriptions) {
  const list = (Array.isArray(descriptions) ? descriptions.flat(DEEP) : [descriptions]).filter((one) => one !== null && one !== undefined && one !== false);
  if (!parent.patched) {
    parent.replaceChildren(); // what the server has rendered gives way
    parent.patched = true;
  }
  patchChildren(parent, list, parent.namespaceURI === SVG);
}
