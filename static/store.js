/**
 * What a person has chosen on the page, field by field with what it begins with. All views read these; they are
 * changed by `app.set` alone. The cluster's state is never here: it is what the clock says it is.
 */

/** Kept in the browser for the next visit. */
const REMEMBERED = {
  mode: "learn", // learn, explore or inspect
  tab: "partitions", // of the inspector
  chosenAcks: "all",
  storyAll: false,
  axis: "order", // of the time lines: order or time
  span: 10_000_000, // microseconds that they show
  internal: false, // internal topics, too
  stageWords: false, // the stage, and the time lines, as words instead of pictures
  lanesWords: false,
  cellText: "offset", // what a cell of the stage shows: offset, key or value
};

/** Of the stage and the levers. */
const STAGE = {
  chosenTopic: null,
  number: "0", // of the chosen partition
  selected: null, // the position of the event that a click has chosen
  record: null, // the record that is open: {name, offset, broker}
  pressed: null, // the record under the finger as it came down: "orders-0@17@2"
  menu: null, // the open menu of a thing: {kind, name, x, y, from}
  spot: null, // where the walk with the keys stands: {kind, name, number, offset}
  folded: null, // the box whose clients are listed
  inspected: null, // "kind:name" of the client or group that was chosen
  sheet: false, // whether the levers are open on a phone, where they are a sheet at the bottom
  acksChosenIn: null, // the run that was looked at when acks were chosen
  folds: {}, // levers: {name: whether it is open}
  sliding: null, // the slider that is held: {name, at}
  rates: {}, // records a second that were asked of a producer
  another: null, // the kind of client that the levers would start next
  linkA: null, // both ends of the link that the levers are about
  linkB: null,
  diskOf: null, // the broker whose disk they are about
  directoryOf: "", // the log directory whose faults they are; "": all
  protectionOf: null, // the protection
};

/** Of the inspector and the ledger. */
const INSPECTOR = {
  tabScroll: 0,
  looked: null, // the position of the request's event that is looked at
  brokerOpen: null,
  segmentOpen: null,
  dumpOpen: null, // the file that is dumped: {file, begin, before}
  logOf: null, // the broker whose log is read
  logLevel: "INFO",
  plan: null, // of a reassignment: {topic, rows}
  fileBroker: null,
  znode: null,
  metadataOf: null, // the process whose metadata log is read; null: who leads the quorum
  metadataFile: null, // a snapshot in its directory
  metadataAt: null, // the first record of the page; null: the end
  metadataOpen: null, // the record that is open
  metadataAll: false, // those that change nothing, too
  flight: null, // the message under way that is looked at
  messageLit: null, // its field
  byteOffset: null, // the record whose bytes are shown
  fieldLit: null, // their field
  ledgerView: "batches",
  configOf: null,
  configAll: false,
  configFind: "",
  configEdit: null,
  metricsAll: false,
};

/** Of the connection. */
const WIRE = { online: false, everOnline: false };

const nothing = () => {};

/** Parts that are put together when the page opens (`inspect/open.js`, `views/listen.js`), and what they do for all. */
const TOOLS = {
  inquiry: null, // questions to the server
  asking: () => Promise.resolve({ ok: false, lost: true }), // one question; answered once there is a wire
  send: null, // (command) => promise of the answer
  measure: null, // figures before and after a fault
  runner: null, // lessons at one key
  messages: null, // bytes of a message
  attend: null, // what happened last is looked at
  records: null, // keys and values
  follow: null, // the leader, in the inspector
  termCard: null,
  notice: nothing, // (text, tone)
  openMenu: nothing, closeMenu: nothing, openDialog: nothing, closeDialog: nothing, openHelp: nothing, closeHelp: nothing,
};

/** What one view leaves for the others, or for its next picture. Nobody chose it, and it makes no picture stale. */
const NOTES = {
  scene: null, // the layout of the stage
  underWay: [], // sums of the messages that are drawn
  printed: 0, // the width of the stage on which checksums have stood: its key says what they are
  tabHeight: 600, // pixels
  configText: null, // what is typed into a setting
  logFound: null, // lines of a server log
  lastBytes: null, // while others come
  heldRecent: null, // rows that stand still under the pointer
  heldLanes: null,
  dirty: true, // whether a new picture is wanted
  moved: false, // something that takes a while has come on: drawer and dialogs alone show how far
};

/** What stands on the page's object beside the fields. */
export const PARTS = { ...TOOLS, ...NOTES };

export const FIELDS = { ...REMEMBERED, ...STAGE, ...INSPECTOR, ...WIRE };
const KEPT = "lab";

/** The fields of a first visit, with what an earlier one has left in `storage`. */
export function beginning(storage = globalThis.localStorage) {
  try {
    return { ...FIELDS, ...JSON.parse(storage?.getItem(KEPT) ?? "{}") };
  } catch {
    storage.removeItem(KEPT);
    return { ...FIELDS };
  }
}

/** Keep what outlives the page, if any of `changed` does. */
export function keep(fields, changed, storage = globalThis.localStorage) {
  if (!changed.some((name) => name in REMEMBERED)) return;
  storage.setItem(KEPT, JSON.stringify(Object.fromEntries(Object.keys(REMEMBERED).map((name) => [name, fields[name]]))));
}
