/**
 * Where links can be taken hold of on the stage: {name: "broker-1~broker-2", between: [a, b], line, x, y}. Pure.
 *
 *     between brokers            on the way of their requests, beside the cards
 *     a client and a leader      a third of the way, where the ways of several leaders are apart
 *     a link with a fault        where its sign stands (`signs.js`)
 *
 * Links of a healthy cluster of many brokers or clients have none: the handles would cover the picture.
 */
import { brokerNode, byNumber } from "../model/names.js";
import { along, boxOf, way } from "./layout.js";

const BROKERS = 4;
const CLIENT_WAYS = 9;
const NEAR_CLIENT = 0.32;
const GUTTER = 64; // pixels between clients and brokers with room for handles of both
export const APART = 24; // pixels between two of them

export const linkName = (a, b) => [a, b].sort().join("~");

/** Both directions of a link that differ from a healthy one. */
export const faultsOf = (state, [a, b]) => state.links.filter((link) => linkName(link.from, link.to) === linkName(a, b));

const isFaulty = (state, between) => faultsOf(state, between).length > 0;

/** Links between brokers, each pair once. */
function betweenBrokers({ brokers }) {
  const nodes = brokers.map(({ id }) => brokerNode(id));
  return nodes.length > BROKERS ? [] : nodes.flatMap((one, index) => nodes.slice(index + 1).map((other) => [one, other]));
}

/** Links of built-in clients of their own to the leaders of a topic. */
function toLeaders(scene, leaders) {
  const [first] = scene.brokers;
  const clients = [...scene.left, ...scene.right].filter(({ client }) => client);
  const [near] = scene.left;
  if (!first || scene.stacked || (near && first.x - near.x - near.w < GUTTER)) return [];
  const found = clients.flatMap(({ name }) => [...leaders].sort(byNumber).map((id) => [name, brokerNode(id)]));
  return found.length > CLIENT_WAYS ? [] : found;
}

/** All of them; of two at one place the first is there. `leaders`: ids of those that lead something of the topic. */
export function linkPlaces(scene, state, leaders) {
  const usual = [...betweenBrokers(scene), ...toLeaders(scene, leaders)];
  const faulty = state.links.map(({ from, to }) => [from, to].sort());
  const found = new Map();
  for (const between of [...faulty, ...usual]) {
    const name = linkName(...between);
    const [from, to] = between.map((node) => boxOf(scene, node, state));
    if (found.has(name) || !from || !to || from === to || from.kind === "you" || to.kind === "you") continue;
    const own = from.column === undefined || to.column === undefined;
    const line = own && to.column === undefined ? way(scene, to, from, false) : way(scene, from, to, false);
    const middle = scene.signs?.find(({ key }) => key === name)?.share ?? 0.5;
    const { x, y } = along(line, own && !isFaulty(state, between) ? NEAR_CLIENT : middle);
    if ([...found.values()].some((other) => Math.hypot(other.x - x, other.y - y) < APART)) continue;
    found.set(name, { name, between, line, x, y });
  }
  return [...found.values()];
}
