/**
 * Rows that are not events of the journal: what clients have done, what pipelines hold, which lights turned, what lies
 * on the disks of a broker that ends.
 */
import { partitions } from "./partitions.js";

/** Codes that nobody steps to and that no story tells. */
export const SILENT = new Set(["marks", "progress", "lights", "stopped_logs", "damage"]);

export const progress = {
  // In front of the end of a broker's process, which makes it hold (partitions.js).
  stopped_logs(draft, { logs }, { node }) {
    draft.root.ending = { node, logs };
  },
  progress(draft, { clients, pipelines, neighbours, marks }) {
    if (marks) partitions.marks(draft, marks);
    for (const [name, figures] of Object.entries(neighbours ?? {})) Object.assign(draft.make("neighbours", name), figures);
    for (const [name, figures] of Object.entries(clients ?? {})) if (draft.root.clients[name]) Object.assign(draft.make("clients", name), figures);
    if (Object.keys({ ...draft.root.pipelines, ...pipelines }).length) draft.root.pipelines = pipelines ?? {};
  },
  lights(draft, turned) {
    const lights = draft.make("invariants");
    for (const [name, light] of Object.entries(turned)) lights[name] = light;
  },
};
