/**
 * Keyed patching: a view returns a description of its elements, `patch` changes only what differs.
 *
 *     patch(list, items.map((item) => h("li", { key: item.id, class: item.tone }, item.text)))
 *
 * Elements are matched by key, else by place and tag. A place is that of an argument, and counts what is left out:
 *
 *     h("p", {},
 *       paused && h("button", {}, "Resume"),    at place 0, or nothing
 *       h("button", {}, "Kill"))                at place 1, with and without the other
 *
 * so that nothing becomes its neighbour because something before it comes or goes, be it under somebody's finger. For the same
 * reason what can be pressed or filled in is not changed into what has other `data-` names or another `name`.
 *
 * Of a `rolling` parent an element whose key is gone takes on the next new one's in its place: children that are all others in
 * each picture are changed, not made and thrown away. Attributes are set as attributes; `on*` are handlers, `style` is an object
 * set through the style sheet's own interface (the content security policy allows no style attributes), and value, checked,
 * disabled, hidden are properties.
 */
const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "selected", "textContent"]);
const OURS = new Set(["key", "rolling"]); // no attributes
const NONE = Object.freeze({});
const WIDE = 65_536; // places in a list
const PRESSED = new Set(["a", "button", "input", "select", "textarea"]);

/** Descriptions of `children` behind each other in `flat`; those of a list have its place and their own in it. */
function lay(children, flat, outer, depth) {
  for (let at = 0; at < children.length; at += 1) {
    const child = children[at];
    if (child === null || child === undefined || child === false || child === "") continue;
    const place = depth === 0 ? at * WIDE : depth === 1 ? outer + at + 1 : outer;
    if (Array.isArray(child)) lay(child, flat, place, depth + 1);
    else {
      if (typeof child === "object") child.place = place;
      flat.push(child);
    }
  }
  return flat;
}

/** A description of an element. Falsy children are left out, arrays are taken apart. */
export function h(tag, props, ...children) {
  return { tag, props: props ?? NONE, key: props?.key, children: lay(children, [], 0, 0), place: 0 };
}

function setStyle(element, before = NONE, after = NONE) {
  for (const name of Object.keys(before)) if (!(name in after)) element.style.removeProperty(name);
  for (const [name, value] of Object.entries(after)) if (before[name] !== value) element.style.setProperty(name, value);
}

/** Stands for every handler: what the newest description of its element says. A picture that changes sets none anew. */
function handle(event) {
  return this.described?.props[`on${event.type}`]?.call(this, event);
}

function setProp(element, name, before, after) {
  if (OURS.has(name)) return;
  if (name === "style") setStyle(element, before, after);
  else if (name.startsWith("on")) {
    if (!before !== !after) element[name] = after ? handle : null;
  } else if (PROPERTIES.has(name)) {
    if (element[name] !== after) element[name] = after ?? "";
  } else if (after === null || after === undefined || after === false) element.removeAttribute(name);
  else element.setAttribute(name, after === true ? "" : after);
}

/** All but `value`, which comes after the children: a select needs its options first. */
function setProps(element, before, after) {
  for (const name in before) if (!(name in after) && name !== "value") setProp(element, name, before[name], undefined);
  for (const name in after) if (before[name] !== after[name] && name !== "value") setProp(element, name, before[name], after[name]);
}

function setValue(element, before, after) {
  if (after !== undefined) setProp(element, "value", before, after);
}

function make(description, svg) {
  if (typeof description !== "object") return document.createTextNode(String(description));
  const inside = svg || description.tag === "svg";
  const element = inside ? document.createElementNS(SVG, description.tag) : document.createElement(description.tag);
  setProps(element, NONE, description.props);
  element.described = description;
  patchChildren(element, description.children, inside);
  setValue(element, undefined, description.props.value);
  return element;
}

/** Whether both are for the same, as far as one description can be told from another. */
function isForTheSame(before, after) {
  if (before === after) return true;
  if (before.name !== after.name) return false;
  for (const name in after) if (!(name in before) && name.startsWith("data-")) return false;
  for (const name in before) if (!(name in after) && name.startsWith("data-")) return false;
  return true;
}

function fits(node, description) {
  if (typeof description !== "object") return node.nodeType === 3;
  const { described } = node;
  if (described?.tag !== description.tag || described.key !== description.key) return false;
  if (described === description || description.key !== undefined) return true;
  return described.place === description.place && (!PRESSED.has(description.tag) || isForTheSame(described.props, description.props));
}

/** Whether no element that is still to come, from `place` on, can be this child: text has nothing to lose. */
const isOver = ({ described, nodeType }, place) => nodeType === 3 || (described !== undefined && described.key === undefined && described.place < place);

function update(node, description, svg) {
  if (typeof description !== "object") {
    if (node.data !== String(description)) node.data = String(description);
    return;
  }
  const before = node.described;
  if (before === description) return;
  node.described = description;
  setProps(node, before.props, description.props);
  patchChildren(node, description.children, svg || description.tag === "svg", description.props.rolling);
  setValue(node, before.props.value, description.props.value);
}

/** Those of a child and its next siblings that have a key. */
function byKey(first) {
  const found = new Map();
  for (let node = first; node; node = node.nextSibling) if (node.described?.key !== undefined) found.set(node.described.key, node);
  return found;
}

function patchChildren(parent, descriptions, svg, rolling = false) {
  let place = parent.firstChild;
  let keyed = null; // made when somebody is not where he was
  let wanted = null;
  // Elements that go make way first: one that stays is not moved, and keeps its focus.
  const isGone = ({ described }) => {
    wanted ??= new Set(descriptions.map((one) => one.key));
    return described?.key !== undefined && !wanted.has(described.key);
  };
  const pass = (node, from) => {
    while (place && place !== node && (isOver(place, from) || ((node || !rolling) && isGone(place)))) {
      const gone = place;
      place = place.nextSibling;
      parent.removeChild(gone);
    }
  };
  for (const description of descriptions) {
    if (place && !fits(place, description) && typeof description === "object") {
      keyed ??= byKey(place);
      pass(null, description.place);
    }
    let node = null;
    if (place && fits(place, description)) node = place;
    else if (description.key !== undefined) {
      const known = keyed?.get(description.key);
      if (known && fits(known, description)) node = known;
      else if (!known && rolling && place?.described?.tag === description.tag && isGone(place)) node = place;
    }
    if (!node) {
      parent.insertBefore(make(description, svg), place);
      continue;
    }
    if (node !== place) pass(node, description.place);
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
  const list = lay(Array.isArray(descriptions) ? descriptions : [descriptions], [], 0, 0);
  if (!parent.patched) {
    parent.replaceChildren(); // what the server has rendered gives way
    parent.patched = true;
  }
  patchChildren(parent, list, parent.namespaceURI === SVG);
}
