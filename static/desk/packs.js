/** Runs as files: what is handed in is taken into the lab, and any finished run is held against what its execution gives. */
import { api, send } from "../net/api.js";

export class Packs {
  constructor(app, desk) {
    Object.assign(this, { app, desk, verdicts: {} }); // run -> the verdict, or "working"
  }

  /** Take in a file that was packed elsewhere, and see at once whether it tells the truth. */
  async take(file) {
    if (!file) return;
    try {
      const { run } = await send("/runs", file, "application/gzip");
      await this.desk.list();
      await this.verify(run);
    } catch (error) {
      this.app.notice(this.app.words.t("pack.refused", { place: file.name, error: error.message }));
    }
  }

  /** Execute a run again; takes as long as it takes. */
  async verify(run) {
    this.#tell(run, "working");
    try {
      let found = await api(`/runs/${run}/verify?wait=30`);
      while (found.id) found = await api(`/runs/${run}/verify?wait=30`);
      this.#tell(run, found);
    } catch (error) {
      this.#tell(run, undefined);
      this.app.notice(error.message);
    }
  }

  #tell(run, verdict) {
    this.verdicts[run] = verdict;
    this.app.set({});
  }
}
