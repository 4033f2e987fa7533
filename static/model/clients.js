/** Built-in clients of a state. */

const named = (state, kind, how) => Object.keys(state.clients).filter((name) => state.clients[name].kind === kind && state.clients[name].state === how);

/** Names of those of a kind (producer | consumer) that run. */
export const running = (state, kind) => named(state, kind, "running");

/** Names of those that have run. */
export const stopped = (state, kind) => named(state, kind, "stopped");

/** Whether somebody may be writing: a producer of the lab, or a client from outside. */
export const writes = (state) => running(state, "producer").length > 0 || Object.keys(state.connections ?? {}).length > 0;
