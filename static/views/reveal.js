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

const GROWN_MS = 1000; // until a panel has what it asked for

/**
 * Where the page scrolls: as far as it takes to have an element above the time bar, with as much of what stands above it as there
 * is room for; again whenever it grows, for a second.
 */
export function intoSight(element) {
  if (getComputedStyle(document.body).overflowY !== "visible") return;
  const grown = new ResizeObserver(() => upToTheBar(element));
  grown.observe(element);
  setTimeout(() => grown.disconnect(), GROWN_MS);
}

function upToTheBar(element) {
  const { top, bottom } = element.getBoundingClientRect();
  const bar = document.getElementById("timebar").getBoundingClientRect().top;
  const head = document.getElementById("top").getBoundingClientRect().bottom;
  scrollBy(0, Math.max(0, Math.min(bottom - bar, top - Math.max(0, head))));
}
