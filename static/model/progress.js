/** Rows that are not events of the journal: what clients have done, what pipelines hold, which lights turned. */

/** Codes that nobody steps to and that no story tells. */
export const SILENT = new Set(["marks", "progress", "lights"]);

export const progress = {
  progress(draft, { clients, pipelines }) {
    for (const [name, figures] of Object.entries(clients ?? {})) if (draft.root.clients[name]) Object.assign(draft.make("clients", name), figures);
    draft.root.pipelines = pipelines ?? {};
  },
  lights(draft, turned) {
    const lights = draft.make("invariants");
    for (const [name, light] of Object.entries(turned)) lights[name] = light;
  },
};
