/** Pixels that the tabs of the inspector take. */
export const BELOW_TABS = 74;

/**
 * Bring an element to the top of what scrolls around it, `below` pixels from the edge: room for a heading that sticks.
 *
 * `scrollIntoView` would move the page itself, too, also where it fills the window and nobody could scroll it back.
 */
export function reveal(element, below = 0) {
  const top = () => element.getBoundingClientRect().top;
  for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
    const { overflowY, position } = getComputedStyle(box);
    if (overflowY === "auto" || overflowY === "scroll") box.scrollTop += top() - box.getBoundingClientRect().top - below;
    if (position === "fixed") return;
  }
  if (getComputedStyle(document.body).overflowY === "visible") scrollBy(0, top() - document.getElementById("top").getBoundingClientRect().bottom - below);
}
