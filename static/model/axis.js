/**
 * The offsets that the rows of one partition show: the same columns on every broker. No DOM.
 *
 * Replicas may end far apart. Where one ends, the cells around its end stay; what lies between two ends is folded,
 * so each replica shows its own tail and what it lacks is a hole at the same place on every broker.
 *
 *     broker 1   2696 2697 2698 | ···48··· | 2747 2748        it died with fifty records of its own
 *     broker 2   2696 2697 2698 |       50 missing
 *
 * A column is {from, to} (`to` exclusive): a cell where it holds one offset, else a fold.
 */
const FOLD = 34; // least width of a fold in pixels
const SLIVER = 4; // an offset in a fold that has room for its offsets
const TAIL = 2; // cells behind a fold, where another replica's records end
const BODY = 3; // cells of what all replicas have

/** Width of a cell for offsets up to `end`. */
export const cellWidth = (end) => Math.max(27, String(Math.max(0, end - 1)).length * 7.1 + 6);

/** The end of the longest replica among `logs`. */
export const longest = (logs) => Math.max(0, ...logs.map((log) => log.leo));

/** What must stay in sight, ascending: the ends of the replicas, and what is looked at. */
function bordersOf(logs, wanted) {
  const end = longest(logs);
  const borders = [...logs.map((log) => log.leo), ...wanted].filter((offset) => offset > 0 && offset <= end);
  return [...new Set([...borders, end])].sort((one, other) => one - other);
}

const few = (length, tail) => (length <= tail + 1 ? length : tail);

/** Stretches between two borders, each with how many cells at its end are shown. */
function stretches(borders, start) {
  return borders.map((to, index) => {
    const from = index ? borders[index - 1] : start;
    return { from, to, cells: few(to - from, index ? TAIL : BODY), first: index === 0 };
  });
}

const folds = ({ from, to, cells, first }) => !first && cells < to - from;
const wide = (parts, cell) => parts.reduce((sum, part) => sum + part.cells * cell + (folds(part) ? FOLD : 0), 0);

/** Fewer cells, then fewer borders, until it fits. */
function fitted(borders, start, cell, room) {
  for (let left = borders; ; left = left.filter((_, index) => index !== Math.floor((left.length - 1) / 2))) {
    const parts = stretches(left, start);
    for (const least of [null, 1]) {
      if (least) for (const part of parts) part.cells = Math.min(part.cells, part.to - part.from > 1 ? least : 1);
      if (wide(parts, cell) <= room || (left.length === 1 && least)) return parts;
    }
    if (left.length === 1) return parts;
  }
}

/** More cells while there is room: what can be shown whole, then what all have. */
function filled(parts, cell, room) {
  let left = room - wide(parts, cell);
  for (const part of parts.filter(folds)) {
    const rest = part.to - part.from - part.cells;
    if (rest * cell - FOLD <= left) {
      left -= rest * cell - FOLD;
      part.cells += rest;
    }
  }
  for (const part of parts.filter(folds)) {
    part.extra = Math.max(0, Math.min(left - cell, (part.to - part.from - part.cells) * SLIVER - FOLD));
    left -= part.extra;
  }
  const [first] = parts;
  const more = Math.max(0, Math.min(Math.floor(left / cell), first.to - first.from - first.cells));
  first.cells += more;
  return left - more * cell;
}

/**
 * The columns of a partition in `room` pixels: {columns: [{from, to, x, w}], end, cell, width}; `wanted`: offsets
 * that must be in sight, too; `cuts`: where a fold ends, because something else begins there; `least`: how far it reaches
 * at least, where no replica does.
 */
export function axisOf(partition, room, wanted = [], cuts = [], least = 0) {
  const logs = [...Object.values(partition.logs), ...(least > 0 ? [{ leo: least, start: least }] : [])];
  const end = longest(logs);
  const cell = cellWidth(end);
  const start = Math.min(end, ...logs.map((log) => log.start ?? 0));
  const around = wanted.filter((offset) => offset >= start && offset < end).map((offset) => Math.min(end, offset + 2));
  const parts = fitted(bordersOf(logs, [...around, ...cuts]).filter((border) => border > start), start, cell, room);
  if (!parts.length) return { columns: [], end, start, cell, width: 0 };
  filled(parts, cell, room);
  const columns = [];
  let x = 0;
  const put = (from, to, w) => {
    columns.push({ from, to, x, w });
    x += w;
  };
  for (const part of parts) {
    const cut = part.to - part.cells;
    if (folds(part)) put(part.from, cut, FOLD + (part.extra ?? 0));
    for (let offset = cut; offset < part.to; offset += 1) put(offset, offset + 1, cell);
  }
  return { columns, end, start, cell, width: x };
}

/** Where the border in front of `offset` is on the axis, in pixels; null when it is left of all columns. */
export function placeOn({ columns, end, width }, offset) {
  if (!columns.length || offset < columns[0].from) return null;
  if (offset >= end) return width;
  const column = columns.find(({ from, to }) => from <= offset && offset < to);
  return column.x + (column.w * (offset - column.from)) / (column.to - column.from);
}
