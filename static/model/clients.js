/** Built-in clients of a state. */

/** Names of those of a kind (producer | consumer) that run. */
export function running(state, kind) {
  return Object.keys(state.clients).filter((name) => state.clients[name].kind === kind && state.clients[name].state === "running");
}
