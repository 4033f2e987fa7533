/**
 * Where a page goes next is said once: what deletes a class leads away from it, and so does hearing that it is gone.
 * The second of two would cancel the first, half way.
 */
let left = null;

/** Leaves for `address`, or lets the page go where it already goes; done when somebody comes back to the page as it was. */
export function leaveFor(address) {
  left ??= new Promise((back) => {
    addEventListener("pageshow", function shown({ persisted }) {
      if (!persisted) return; // it was just being opened
      removeEventListener("pageshow", shown);
      left = null;
      back();
    });
    globalThis.location.assign(address);
  });
  return left;
}
