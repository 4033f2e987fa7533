/** Settings of a topic, a broker, a group (with KRaft) or a built-in client: value, default, source; dynamic ones can be changed right here. */
import { FILTERS } from "../../i18n/format.js";
import { asOf, choices, dotted, hint } from "./common.js";
import { byNumber, isKRaft } from "../../model/names.js";
import { base } from "../../net/api.js";
import { h } from "../patch.js";
import { prose } from "../prose.js";
import { marked } from "../terms.js";
import { thenAndNow } from "../then.js";

const ROWS = 80;

function subjects(view) {
  const { state, words } = view;
  const brokers = Object.keys(state.brokers).filter((id) => state.brokers[id].state === "running").sort(byNumber);
  const clients = Object.keys(state.clients).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const groups = isKRaft(state) ? Object.keys(state.groups).sort() : [];
  return [
    ...(view.topicName ? [[`topic:${view.topicName}`, view.topicName]] : []),
    ...brokers.map((id) => [`broker:${id}`, `${words.t("noun.broker")} ${id}`]),
    ...groups.map((name) => [`group:${name}`, `${words.t("noun.group")} ${name}`]),
    ...clients.map((name) => [`client:${name}`, FILTERS.node(name, words.words)])];
}

function send(view, subject, name, value) {
  const at = subject.indexOf(":");
  const [kind, which] = [subject.slice(0, at), subject.slice(at + 1)];
  const set = { [name]: value };
  if (kind === "client") view.command({ do: "set_client", name: which, set });
  else view.command({ do: "alter_config", [kind]: kind === "broker" ? Number(which) : which, set });
  view.set({ configEdit: null });
  setTimeout(() => view.inquiry.fresh("config", subject), 400);
}

function editor(view, subject, one) {
  const { words } = view;
  const submit = (event) => {
    event.preventDefault();
    send(view, subject, one.name, new FormData(event.target).get("value"));
  };
  const field = one.type === "BOOLEAN"
    ? h("select", { name: "value", "aria-label": one.name, value: one.value }, ["true", "false"].map((value) => h("option", { key: value, value }, value)))
    : h("input", {
      name: "value", "aria-label": one.name, autocomplete: "off", value: view.configText ?? one.value ?? "",
      oninput: (event) => { view.configText = event.target.value; }
    });
  return h("form", { class: "config-form", onsubmit: submit }, field, h("button", { class: "main", disabled: view.lookOnly }, words.t("config.set")),
    one.changed && h("button", { type: "button", disabled: view.lookOnly, onclick: () => send(view, subject, one.name, null) }, words.t("config.reset")),
    h("button", { type: "button", onclick: () => view.set({ configEdit: null }) }, words.t("cancel")));
}

function row(view, subject, one) {
  const { words } = view;
  const open = view.configEdit === one.name;
  const toggle = () => {
    view.configText = null;
    view.set({ configEdit: open ? null : one.name });
  };
  return h("li", { key: one.name, class: `setting${one.changed ? " changed" : ""}` },
    h("div", { class: "setting-name" },
      h("button", { type: "button", class: "plain", "aria-expanded": String(open), "data-setting": one.name, onclick: toggle },
        h("code", {}, dotted(one.name))),
      h("b", {}, one.value === null || one.value === "" ? "–" : one.value)),
    one.doc && h("p", { class: "setting-meaning" }, prose(words.language === "ko" ? one.ko : one.doc, (part) => marked(words, part))),
    h("div", { class: "setting-note" },
      one.changed ? `● ${words.t(`config.source.${one.source}`)}` : words.t("config.source.DEFAULT"),
      one.changed && one.default !== null && ` · ${words.t("config.default", { value: one.default })}`,
      one.read_only && ` · ${words.t("config.read_only")}`),
    thenAndNow(one, words),
    open && h("p", { class: "hint" }, h("a", { href: `${base}/trace/#settings-${one.name}`, target: "_blank", rel: "noopener" }, words.t("config.trace"))),
    open && (one.read_only ? h("p", { class: "hint" }, words.t("config.restart_needed")) : editor(view, subject, one)));
}

/** Whose settings are shown: as chosen; of what is looked for those of the first that has it, a topic before the brokers. */
function subjectOf(view, offered, wanted) {
  if (offered.some(([value]) => value === view.configOf)) return view.configOf;
  const has = (subject) => view.inquiry.get("config", subject).found?.entries.some((one) => one.name.includes(wanted));
  const firsts = ["topic", "broker"].map((kind) => offered.find(([value]) => value.startsWith(kind))?.[0]).filter(Boolean);
  return (wanted && firsts.find(has)) || offered[0]?.[0];
}

export function configTab(view) {
  const { words } = view;
  const offered = subjects(view);
  const wanted = (view.configFind ?? "").toLowerCase();
  const subject = subjectOf(view, offered, wanted);
  if (!subject) return h("p", { class: "empty" }, words.t("table.empty"));
  const entry = view.inquiry.get("config", subject);
  const all = entry.found?.entries ?? [];
  const fits = all.filter((one) => (view.configAll || wanted || one.changed || !subject.startsWith("broker")) && one.name.includes(wanted));
  const shown = [...fits].sort((a, b) => b.changed - a.changed || a.name.localeCompare(b.name)).slice(0, ROWS);
  return [
    choices("config", words.t("tab.config"), offered, subject, (value) => view.set({ configOf: value, configEdit: null })),
    asOf(view, entry),
    h("div", { key: "find", class: "config-find" },
      h("input", {
        type: "search", "aria-label": words.t("config.find"), placeholder: words.t("config.find"), value: view.configFind ?? "",
        oninput: (event) => view.set({ configFind: event.target.value })
      }),
      subject.startsWith("broker") && h("label", { class: "check" },
        h("input", {
          type: "checkbox", checked: Boolean(view.configAll), onchange: (event) => view.set({ configAll: event.target.checked })
        }),
        words.t("config.all"))),
    h("ul", { key: "settings", class: "setting-list" }, shown.map((one) => row(view, subject, one))),
    wanted && all.length > 0 && !shown.length && hint("none", words.t("config.nothing")),
    fits.length > shown.length && hint("more", words.t("config.more", { n: fits.length - shown.length })),
  ];
}
