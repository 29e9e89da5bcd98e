import { pack, panelBytes, panelsOf } from './pack';
import { EDGE_BYTES, spread, spreadBytes, tile, tileEdge } from './tile';

/** Summands packed at a time, at most: a spread panel and a packed one of 256 fill half of a 48 KiB first-level cache; a year is 252. */
const DEPTH: i32 = 256;

/** Panels of the right operand kept in the second-level cache while the left ones pass: 48 x 8 KiB. */
const BLOCK: i32 = 48;

export function symmetricRankKScratch(rows: i32, columns: i32): usize {
  return EDGE_BYTES + spreadBytes(DEPTH) + <usize>panelsOf(columns) * panelBytes(min(rows, DEPTH));
}

/**
 * Upper tiles of C = X'X for the tile rows [first, last), whatever C held. Each pair is summed over the rows in their order, as in
 * `algebra/symmetric-rank-k`, whatever the range: workers that share the tile rows among them give the bits of one, and those of the definition.
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
    addSlab(depth, columns, c, first, last, slab == 0, packed, left, scratch);
  }
}

function addSlab(depth: i32, columns: i32, c: usize, first: i32, last: i32, fresh: bool, packed: usize, left: usize, edge: usize): void {
  const panels = panelsOf(columns);
  for (let block = first; block < panels; block += BLOCK) {
    const blockEnd = min(block + BLOCK, panels);
    const rowEnd = min(last, blockEnd);
    for (let p = first; p < rowEnd; p++) {
      spread(depth, packed + <usize>p * panelBytes(depth), 1, left);
      addTiles(depth, columns, c, p, max(p, block), blockEnd, fresh, packed, left, edge);
    }
  }
}

/** The tiles [q, end) of tile row p. */
function addTiles(depth: i32, columns: i32, c: usize, p: i32, q: i32, end: i32, fresh: bool, packed: usize, left: usize, edge: usize): void {
  const ld = <usize>columns << 3;
  const bytes = panelBytes(depth);
  const rows = min(4, columns - (p << 2));
  let right = packed + <usize>q * bytes;
  let at = c + <usize>(p << 2) * ld + (<usize>q << 5);
  if (fresh) {
    const width = min(columns, end << 2) - (q << 2);
    for (let r = 0; r < rows; r++) memory.fill(at + <usize>r * ld, 0, <usize>width << 3);
  }
  const whole = rows == 4 ? min(end, columns >> 2) : q;
  for (; q < whole; q++) {
    tile(depth, left, right, at, ld);
    right += bytes;
    at += 32;
  }
  if (q < end) tileEdge(depth, left, right, at, ld, rows, columns - (q << 2), -4, edge);
}
