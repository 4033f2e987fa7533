/** Replicas under way in a reassignment (KIP-455): which join, and which leave once those are in sync. No DOM. */

export const MOVES = { joining: "＋", leaving: "−" };

/** "joining" | "leaving" | null: what a reassignment does with the replica on broker `id`. */
export function moveOf({ adding, removing, isr }, id) {
  if (adding?.includes(id) && !isr.includes(id)) return "joining";
  return removing?.includes(id) ? "leaving" : null;
}

/** Whether a partition has replicas under way. */
export const isMoving = ({ adding, removing }) => Boolean(adding?.length || removing?.length);
