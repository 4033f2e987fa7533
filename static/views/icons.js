/** Small drawings for buttons; every one stands beside a word or has a label. */
import { h } from "./patch.js";

const PATHS = {
  back: "M2 2h2.500v12H2zM14 2v12L5.500 8z", on: "M11.500 2H14v12h-2.500zM2 2l8.500 6L2 14z", play: "M3 1.500 14 8 3 14.500z", pause: "M3 2h3.500v12H3zM9.500 2H13v12H9.500z",
  back_far: "M1 2h2v12H1zM9 2v12L3.500 8zM15 2v12L9.500 8z", on_far: "M13 2h2v12h-2zM1 2l5.500 6L1 14zM7 2l5.500 6L7 14z",
  kill: "M3.400 1.600 8 6.200l4.600-4.600 1.800 1.800L9.800 8l4.600 4.600-1.800 1.800L8 9.800l-4.600 4.600-1.800-1.800L6.200 8 1.600 3.400z", stop: "M2.500 2.500h11v11h-11z",
  resume: "M3 1.500 14 8 3 14.500z", power_loss: "M9.500 0 3 9h4l-1.500 7L13 6.500H8.500z",
  words: "M1.500 3h13v1.800h-13zM1.500 7.100h13v1.800h-13zM1.500 11.200h8.500V13H1.500z",
  fork: "M4 1h2v5.200c.900-.700 2-1.200 3.300-1.200H10V2.500L14 6l-4 3.500V7H9.300C7.500 7 6 8.500 6 10.300V15H4z",
  restart: "M8 2.200a5.800 5.800 0 1 0 5.700 7h-2.200A3.700 3.700 0 1 1 8 4.300c1 0 1.900.400 2.600 1.100L8.500 7.500H14V2l-1.900 1.900A5.800 5.800 0 0 0 8 2.200z",
};

export function icon(name, size = 13) {
  return h("svg", { viewBox: "0 0 16 16", width: size, height: size, "aria-hidden": "true", class: `icon ${name}` }, h("path", { d: PATHS[name] }));
}
