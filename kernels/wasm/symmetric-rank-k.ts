import { pack, panelBytes, panelsOf } from './pack';
import { EDGE_BYTES, spread, spreadBytes, tile, tileEdge } from './tile';

/** Summands packed at a time, at most: a spread panel and a packed one of 256 fill half of a 48 KiB first-level cache; a year is 252. */
const DEPTH: i32 = 256;

/**
 * Panels of the right operand that pass one left panel before the next is spread. Blocks that stay in the second-level cache (48 x 8 KiB)
 * spread four times as often, which costs more than streaming from the third: 1 to 2 % on a core of 1 MiB.
 */
const BLOCK: i32 = 192;

export function symmetricRankKScratch(rows: i32, columns: i32): usize {
  return EDGE_BYTES + spreadBytes(DEPTH) + <usize>panelsOf(columns) * panelBytes(min(rows, DEPTH));
}

/**
 * C = X'X in the upper tiles of the tile rows [first, last) and their mirror images below the diagonal, whatever C held. Each pair is summed
 * over the rows in their order, as in `algebra/symmetric-rank-k`, whatever the range: workers that share the tile rows among them give the
 * bits of one, and those of the definition.
 */
export function symmetricRankK(x: usize, rows: i32, columns: i32, c: usize, first: i32, last: i32, scratch: usize): void {
  const left = scratch + EDGE_BYTES;
  const packed = left + spreadBytes(DEPTH);
  const ld = <usize>columns << 3;
  const slabs = max(1, (rows + DEPTH - 1) / DEPTH);
  for (let slab = 0; slab < slabs; slab++) {
    // Slabs of one length, to a row: no short one at the end.
    const t = <i32>(<i64>slab * rows / slabs);
    const depth = <i32>(<i64>(slab + 1) * rows / slabs) - t;
    const skipped = first << 2;
    pack(x + <usize>t * ld + (<usize>skipped << 3), 8, ld, columns - skipped, depth, packed + <usize>first * panelBytes(depth));
    addSlab(depth, columns, c, first, last, slab == 0, slab == slabs - 1, packed, left, scratch);
  }
}

function addSlab(depth: i32, columns: i32, c: usize, first: i32, last: i32, isFirst: bool, isLast: bool, packed: usize, left: usize, edge: usize): void {
  const panels = panelsOf(columns);
  for (let block = first; block < panels; block += BLOCK) {
    const blockEnd = min(block + BLOCK, panels);
    const rowEnd = min(last, blockEnd);
    for (let p = first; p < rowEnd; p++) {
      spread(depth, packed + <usize>p * panelBytes(depth), 1, left);
      addTiles(depth, columns, c, p, max(p, block), blockEnd, isFirst, isLast, packed, left, edge);
    }
  }
}

/** The tiles [q, end) of tile row p, mirrored by the last slab while they are in the first-level cache. */
function addTiles(depth: i32, columns: i32, c: usize, p: i32, q: i32, end: i32, isFirst: bool, isLast: bool, packed: usize, left: usize, edge: usize): void {
  const ld = <usize>columns << 3;
  const bytes = panelBytes(depth);
  const rows = min(4, columns - (p << 2));
  let right = packed + <usize>q * bytes;
  let at = c + <usize>(p << 2) * ld + (<usize>q << 5);
  if (isFirst) {
    const width = min(columns, end << 2) - (q << 2);
    for (let r = 0; r < rows; r++) memory.fill(at + <usize>r * ld, 0, <usize>width << 3);
  }
  let below = c + <usize>(q << 2) * ld + (<usize>p << 5);
  const whole = rows == 4 ? min(end, columns >> 2) : q;
  for (; q < whole; q++) {
    tile(depth, left, right, at, ld);
    if (isLast && q != p) mirrorTile(at, below, ld);
    right += bytes;
    at += 32;
    below += ld << 2;
  }
  if (q == end) return;
  tileEdge(depth, left, right, at, ld, rows, columns - (q << 2), -4, edge);
  if (isLast && q != p) mirrorEdge(at, below, ld, columns - (q << 2));
}

/** The transpose of a finished tile, to where it lies below the diagonal. */
function mirrorTile(tile: usize, below: usize, ld: usize): void {
  const third = tile + (ld << 1);
  mirrorPair(tile, tile + ld, below, ld);
  mirrorPair(third, third + ld, below + 16, ld);
}

/** Two rows of a tile become two columns. */
// @ts-ignore: decorator
@inline
function mirrorPair(upper: usize, lower: usize, below: usize, ld: usize): void {
  const a0 = v128.load(upper);
  const b0 = v128.load(lower);
  const a1 = v128.load(upper, 16);
  const b1 = v128.load(lower, 16);
  v128.store(below, v128.shuffle<f64>(a0, b0, 0, 2));
  v128.store(below + ld, v128.shuffle<f64>(a0, b0, 1, 3));
  below += ld << 1;
  v128.store(below, v128.shuffle<f64>(a1, b1, 0, 2));
  v128.store(below + ld, v128.shuffle<f64>(a1, b1, 1, 3));
}

/** The same for the last `columns` columns, fewer than four, of a tile row of four. */
function mirrorEdge(tile: usize, below: usize, ld: usize, columns: i32): void {
  for (let j = 0; j < columns; j++) {
    for (let i = 0; i < 4; i++) store<f64>(below + <usize>j * ld + (<usize>i << 3), load<f64>(tile + <usize>i * ld + (<usize>j << 3)));
  }
}
