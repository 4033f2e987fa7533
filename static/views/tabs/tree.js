/** The coordination tree: its paths; of a chosen one the data, the session that owns it, and who watches it. */
import { asOf, cell, facts, head, number, table, title } from "./common.js";
import { count } from "../../i18n/format.js";
import { h } from "../patch.js";
import { BELOW_TABS, reveal } from "../reveal.js";

/** Arrow keys move along the paths; Enter chooses. */
function move(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopPropagation();
  const all = [...event.currentTarget.closest("ul").querySelectorAll("[data-znode]")];
  all[all.indexOf(event.currentTarget) + by]?.focus();
}

/** Choose or let go; a chosen path goes up, so that what is known of it stands in sight below it. */
function choose(view, path, open) {
  return (event) => {
    const row = event.currentTarget.closest("li");
    view.set({ znode: open ? null : path });
    if (!open) setTimeout(() => reveal(row, BELOW_TABS), 100);
  };
}

function watchers(nodes, words) {
  return nodes.length ? nodes.map((node) => words.name(node)).join(", ") : words.t("tree.nobody");
}

function data(found, words) {
  if (found.format === "none") return h("p", { key: "data", class: "hint" }, words.t("tree.no_data"));
  const text = found.format === "json" ? JSON.stringify(found.data, null, 1) : found.data;
  return h("pre", { key: "data", class: "znode-data", tabindex: "0", role: "group", "aria-label": words.t("tree.data") }, text);
}

function owner(found, words) {
  if (!found.owner) return words.t("tree.persistent");
  const who = found.owner.client ? words.name(found.owner.client) : "–";
  return [`${who} `, h("code", {}, found.owner.session)];
}

/** What is asked for while a path is chosen. It stays when the znode goes: who watches the path waits for the next one. */
function closely(view, path) {
  const { words } = view;
  const entry = view.inquiry.get("znode", path);
  const found = entry.error ? null : entry.found;
  return [
    asOf(view, entry),
    found && !found.there && h("p", { key: "gone", class: "hint" }, `✕ ${words.t("tree.gone")}`),
    found?.there && data(found, words),
    found && facts([
      found.there && [words.t("tree.owner"), owner(found, words), "wide"],
      found.there && [words.t("tree.versions"), count(found.version)], found.there && [words.t("tree.children"), count(found.children)],
      found.there && ["czxid", count(found.czxid)], found.there && ["mzxid", count(found.mzxid)],
      [words.t("tree.watch.data"), watchers(found.watches.data, words), "wide"],
      [words.t("tree.watch.children"), watchers(found.watches.children, words), "wide"],
    ]),
  ];
}

/** The other clusters that live in this tree, each below its chroot. */
function neighbours(state, words) {
  const yes = (given) => (given ? `✓ ${words.t("neighbours.yes")}` : `✕ ${words.t("neighbours.no")}`);
  const rows = Object.entries(state.neighbours ?? {}).map(([name, one]) => h("tr", { key: name, "data-neighbour": name },
    head(name, " ", h("code", {}, one.chroot)),
    cell(`${one.registered.join(" ") || words.t("stage.nobody")} / ${one.brokers}`),
    cell(one.controller === null ? words.t("stage.nobody") : String(one.controller)),
    cell(`${one.led} / ${one.partitions}`),
    number(one.acked_per_s), cell(yes(one.elects))));
  return rows.length > 0 && [
    title("neighbours", words.t("neighbours.title")),
    table("neighbours-table", words.t("neighbours.title"), [
      words.t("neighbours.cluster"), words.t("neighbours.registered"), words.t("neighbours.controller"), words.t("neighbours.led"),
      [words.t("neighbours.acked"), "number"], words.t("neighbours.elects")], rows),
  ];
}

export function treeTab(view) {
  const { state, words } = view;
  const paths = Object.keys(state.znodes).sort();
  const chosen = view.znode ?? null;
  if (!paths.length) return h("p", { class: "empty" }, words.t("tree.empty"));
  const here = chosen !== null && paths.includes(chosen);
  const entered = here ? chosen : paths[0]; // the one that Tab leads to
  return [
    neighbours(state, words),
    h("p", { key: "how", class: "hint" }, words.t("tree.choose")),
    chosen !== null && !here && h("section", { key: "gone", class: "znode-look", "aria-label": chosen },
      h("h3", { class: "look-title" }, h("code", {}, chosen)),
      closely(view, chosen)),
    h("ul", { key: "paths", class: "znodes" }, paths.flatMap((path) => {
      const { version, ephemeral } = state.znodes[path];
      const depth = path.split("/").length - 2;
      const open = path === chosen;
      return [
        h("li", { key: path, class: open ? "chosen" : null, style: { "--depth": String(depth) } },
          h("button", {
            type: "button", class: "plain", "data-znode": path, "aria-label": path, "aria-expanded": String(open),
            tabindex: path === entered ? "0" : "-1", onkeydown: move, onclick: choose(view, path, open)
          },
            h("code", {}, depth ? path.slice(path.lastIndexOf("/")) : path)),
          h("span", {}, ephemeral ? `◷ ${words.t("tree.ephemeral", { owner: ephemeral })}` : words.t("tree.version", { version }))),
        open && h("li", { key: `look ${path}`, class: "znode-look" }, closely(view, path)),
      ];
    })),
  ];
}
