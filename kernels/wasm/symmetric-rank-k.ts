import { pack, panelBytes, panelsOf } from './pack';
import { tile, tileEdge } from './tile';

/** Summands packed at a time: a pair of panels of 192 fills a quarter of a 48 KiB first-level cache. */
const DEPTH: i32 = 192;

/** Panels of the right operand kept in the second-level cache while the left ones pass: 32 x 6 KiB. */
const BLOCK: i32 = 32;

export function symmetricRankKScratch(rows: i32, columns: i32): usize {
  return 128 + <usize>panelsOf(columns) * panelBytes(min(rows, DEPTH));
}

/**
 * Upper tiles of C += X'X for the tile rows [first, last). Each pair is summed in blocks of 192 rows, whatever the range:
 * workers that share the tile rows among them give the bits of one.
 */
export function symmetricRankK(x: usize, rows: i32, columns: i32, c: usize, first: i32, last: i32, scratch: usize): void {
  const packed = scratch + 128;
  const ld = <usize>columns << 3;
  for (let t = 0; t < rows; t += DEPTH) {
    const depth = min(DEPTH, rows - t);
    const skipped = first << 2;
    pack(x + <usize>t * ld + (<usize>skipped << 3), 8, ld, columns - skipped, depth, packed + <usize>first * panelBytes(depth));
    addSlab(depth, columns, c, first, last, packed, scratch);
  }
}

function addSlab(depth: i32, columns: i32, c: usize, first: i32, last: i32, packed: usize, edge: usize): void {
  const panels = panelsOf(columns);
  for (let block = first; block < panels; block += BLOCK) {
    const blockEnd = min(block + BLOCK, panels);
    const rowEnd = min(last, blockEnd);
    for (let p = first; p < rowEnd; p++) {
      for (let q = max(p, block); q < blockEnd; q++) addTile(depth, columns, c, p, q, packed, edge);
    }
  }
}

function addTile(depth: i32, columns: i32, c: usize, p: i32, q: i32, packed: usize, edge: usize): void {
  const ld = <usize>columns << 3;
  const a = packed + <usize>p * panelBytes(depth);
  const b = packed + <usize>q * panelBytes(depth);
  const at = c + <usize>(p << 2) * ld + (<usize>q << 5);
  const rows = columns - (p << 2);
  const width = columns - (q << 2);
  if (rows >= 4 && width >= 4) tile(depth, a, b, at, ld, 1);
  else tileEdge(depth, a, b, at, ld, 1, min(rows, 4), min(width, 4), edge);
}

/** Copies the upper triangle to the lower one, in squares of 32 so that both sides stay in the cache. */
export function mirrorUpper(c: usize, n: i32): void {
  const ld = <usize>n << 3;
  for (let ib = 0; ib < n; ib += 32) {
    const iEnd = min(ib + 32, n);
    for (let jb = ib; jb < n; jb += 32) {
      const jEnd = min(jb + 32, n);
      for (let i = ib; i < iEnd; i++) {
        for (let j = max(jb, i + 1); j < jEnd; j++) {
          store<f64>(c + <usize>j * ld + (<usize>i << 3), load<f64>(c + <usize>i * ld + (<usize>j << 3)));
        }
      }
    }
  }
}
