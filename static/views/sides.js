/** The boxes at both sides of the stage: who writes, and who reads what. */
import { FILTERS, count } from "../i18n/format.js";
import { lagOf, membersOf, numbersText, rebalances } from "../model/readers.js";
import { countsOf, heldBy, shareLag } from "../model/shares.js";
import { SMALL } from "../draw/letters.js";
import { h } from "./patch.js";

const LOW_SIDE = 54; // a box without room for a third line
const NARROW_SIDE = 100; // a group's box with room for its name alone
const MEMBER = 16; // a member's line in its group's card, in pixels
const HEAD = 40; // of a group's card

/** A rough width in pixels at `size` px: enough to cut a name before it leaves its box. */
function cut(text, room, size = 13) {
  let width = 0;
  for (let index = 0; index < text.length; index += 1) {
    width += text.charCodeAt(index) > 0x1100 ? size : 0.585 * size;
    if (width > room) return `${text.slice(0, Math.max(1, index - 1))}…`;
  }
  return text;
}

const acksOf = ({ settings }) => (String(settings?.acks ?? "all") === "-1" ? "all" : String(settings?.acks ?? "all"));

/** What became of a producer's records, as far as it knows: nobody confirms any with acks=0. What failed is never cut off. */
function written({ client, w }, words) {
  if (client.failed > 0) {
    const told = words.t("stage.acked_failed", { acked: client.acked, failed: client.failed });
    return cut(told, w + 8, SMALL) === told ? told : `✓ ${count(client.acked)}  ✕ ${count(client.failed)}`;
  }
  return client.acked > 0 ? words.t(acksOf(client) === "0" ? "stage.sent" : "stage.acked", { n: client.acked }) : null;
}

/** A name that has room, else the shorter one. */
const whole = ({ w }, name, short) => (cut(name, w - 8) === name ? name : short);

/** "Group billing", or its name alone where there is no room for both. */
function groupName({ name, w }, words) {
  return w >= NARROW_SIDE ? whole({ w }, words.t("stage.group", { group: name }), name) : name;
}

/** How far a group is: its lag; a share group's records that nobody has done yet, and how many of them are held. */
function groupNote({ name, w }, state, words) {
  const n = lagOf(state, name);
  const lag = words.t("stage.lag", { n });
  if (!state.shares?.[name]) return cut(lag, w - 6, SMALL) === lag ? lag : words.t("stage.lag.short", { n });
  return words.t("stage.share.note", { n: shareLag(state, name), held: countsOf(state, name).acquired });
}

const SIGNS = { paused: "❚❚ ", stopped: "× " }; // in front of the name of a client that does not run

/** What stands in the place of a client's settings or name when it can do nothing any more, however often it tries. */
const overText = ({ over }, words) => (over ? `✕ ${words.t(`stage.over.${over}`)}` : null);

function sideText(item, view) {
  const { words, state, acks } = view;
  if (item.kind === "folded") return [words.t("stage.more_clients", { n: item.rest.length }), item.rest.map(({ name }) => name).join(", ")];
  if (item.kind === "group") {
    return [groupName(item, words), groupNote(item, state, words), words.t("stage.members", { n: item.group.members.length })];
  }
  if (item.kind === "outside") {
    const name = whole(item, words.t("stage.outside"), words.t("stage.outside.short"));
    return [name, words.t("stage.connections", { n: item.connections.length })];
  }
  if (item.kind === "you") return [words.t("stage.you"), words.t("stage.you.acks", { acks })];
  const { client } = item;
  const own = item.name.replace(/^(producer|consumer|processor|worker)-/, "");
  const alone = Object.values(state.clients).filter(({ kind }) => kind === item.kind).length < 2;
  const named = FILTERS.node(item.name, words.words);
  const sign = SIGNS[client.state] ?? "";
  const name = `${sign}${alone ? words.t(`stage.${item.kind}`) : named}`;
  const first = alone || cut(name, item.w - 8) === name ? name : `${sign}${own}`;
  if (item.kind === "producer") return [first, overText(client, words) ?? words.t("stage.you.acks", { acks: acksOf(client) }), written(item, words)];
  return [first, overText(client, words) ?? own, client.read > 0 ? words.t("stage.read", { n: client.read }) : null];
}

/** What a click on a box does: a writer's menu, what is known of a reader, the list of those without room. */
function opens(view, item, told) {
  if (item.kind === "you" && view.lookOnly) return { role: "img", "aria-label": told };
  const menu = !view.lookOnly && (item.kind === "you" || (item.kind === "producer" && view.mode !== "inspect"));
  const open = () => {
    if (menu) view.openMenu(item.kind, item.name, item.x + item.w / 2, item.y + item.h);
    else if (item.kind === "folded") view.openFolded(item.name);
    else view.inspectClient(item.kind, item.name);
  };
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    open();
  };
  const own = item.kind === "folded"
    ? { "aria-haspopup": "dialog", "data-folded": item.name }
    : menu ? { "aria-haspopup": "menu", "data-menu": `${item.kind}:${item.name}` } : {};
  return { role: "button", tabindex: item.kind === "folded" ? "0" : "-1", "aria-label": told, ...own, onclick: open, onkeydown: press };
}

/** Who is behind a box of the stage: [{kind, name, shown, text}]. */
export function foldedClients(view, name) {
  const { left = [], right = [] } = view.scene ?? {};
  const rest = [...left, ...right].find((box) => box.name === name)?.rest ?? [];
  return rest.map((item) => {
    const [first, ...more] = sideText({ ...item, w: Infinity }, view);
    const kind = view.words.t(`clients.kind.${item.kind}`);
    return { kind: item.kind, name: item.name, shown: first, text: [kind, ...more].filter(Boolean).join(" · ") };
  });
}

/** What a member reads, in one line: "0 1"; several topics by name. */
function partitionsText(member, words) {
  if (member.gone) return words.t("stage.member.gone");
  const topics = [...new Set(member.partitions.map(([topic]) => topic))].sort();
  const numbers = (topic) => numbersText(member.partitions.filter(([of]) => of === topic).map(([, number]) => number));
  if (!topics.length) return "–";
  return topics.length === 1 ? numbers(topics[0]) : topics.map((topic) => `${topic} ${numbers(topic)}`).join(", ");
}

/** A group: its lag, and each member with its sign and the partitions that it reads. */
function groupCard(view, item) {
  const { words, state } = view;
  const { group, name, x, y, w } = item;
  const members = membersOf(state, name);
  const waits = rebalances(group);
  const idle = members.every(({ partitions }) => !partitions.length);
  const most = Math.max(1, Math.floor((item.h - HEAD - 2) / MEMBER));
  const shown = members.length > most ? members.slice(0, most - 1) : members;
  const note = waits ? words.t(idle ? "stage.rebalance.nobody" : "stage.rebalance") : groupNote(item, state, words);
  const held = state.shares?.[name] ? heldBy(state, name) : null;
  const parts = (member) => (held && !member.gone ? words.t("stage.share.holds", { n: held.get(member.name) ?? 0 }) : partitionsText(member, words));
  const line = (index) => y + HEAD + 11 + index * MEMBER;
  const told = sideText({ ...item, w: Infinity }, view).filter(Boolean).join(" · ");
  return h("g", { key: name, class: `side group team${waits ? " waits" : ""}${view.spot?.name === name ? " spot" : ""}`, ...opens(view, item, told) },
    h("rect", { class: "ground", x: x + 0.5, y: y + 0.5, width: w, height: item.h, rx: 12 }),
    waits && h("rect", { key: "dots", class: "dots", x: x + 0.5, y: y + 0.5, width: w, height: item.h, rx: 12, fill: "url(#dots)" }),
    h("title", {}, told),
    h("text", { class: "side-name", x: x + w / 2, y: y + 17 }, cut(groupName(item, words), w - 8)),
    h("text", { class: `side-note${waits ? " waits" : ""}`, x: x + w / 2, y: y + 33 }, cut(note, w - 6, SMALL)),
    shown.map((member, index) => h("g", {
      key: member.id, class: `member${member.over && !member.gone ? " over" : member.gone || member.paused || !member.partitions.length ? " idle" : ""}`, "data-member": member.id
    },
      h("title", {}, `${member.name}: ${member.over ? `${overText(member, words)} · ` : ""}${held ? `${parts(member)} · ` : ""}${partitionsText(member, words)}`),
      h("text", { class: "member-badge", x: x + 12, y: line(index) }, `${member.gone ? "×" : member.over ? "✕" : member.paused ? "❚❚" : "▲"} ${member.badge}`),
      h("text", { class: "member-parts", x: x + w - 10, y: line(index) }, cut(parts(member), w - 46, SMALL)))),
    shown.length < members.length && h("text", { key: "more", class: "side-note", x: x + w / 2, y: line(shown.length) },
      words.t("stage.more_clients", { n: members.length - shown.length })));
}

/** A box at a side; a group with room for its members is a card. */
export function side(view, item) {
  if (item.kind === "group" && item.h >= HEAD + MEMBER) return groupCard(view, item);
  const [first, second, last] = sideText(item, view);
  const third = item.h < LOW_SIDE ? null : last;
  const room = item.w - (item.kind === "folded" ? 24 : -8); // names are wider than figures
  const middle = item.y + item.h / 2;
  const x = item.x + item.w / 2;
  const stopped = item.client && item.client.state !== "running";
  const told = [first, second, last].filter(Boolean).join(" · ");
  return h("g", {
    key: item.name, class: `side ${item.kind}${stopped ? " stopped" : ""}${item.client?.over ? " over" : ""}${view.spot?.name === item.name ? " spot" : ""}`,
    ...opens(view, item, told)
  },
    h("rect", { x: item.x + 0.5, y: item.y + 0.5, width: item.w, height: item.h, rx: Math.min(14, item.h / 2) }),
    h("title", {}, told),
    h("text", { class: "side-name", x, y: middle - (third ? 9 : 3) }, cut(first, item.w - 8)),
    h("text", { class: "side-note", x, y: middle + (third ? 5 : 12) }, cut(second, room, SMALL)),
    third && h("text", { class: "side-note third", x, y: middle + 19 }, cut(third, item.w + 8, SMALL)));
}

/** The clients and groups on both sides: [[name, "Producer · acks=all · 13 acked"]]. */
export function sidesText(view) {
  const { left = [], right = [] } = view.scene ?? {};
  return [...left, ...right].flatMap((item) => item.rest ?? [item]).map((item) => [item.name, sideText(
    { ...item, w: Infinity }, view).filter(Boolean).join(" · ")]);
}
