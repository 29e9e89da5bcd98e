import { isNative, nativeAddSlabGroup, nativePackSlab, nativeSymmetricRankK } from './native';
import { PANEL_SKEW } from './panel-skew';
import { getPanelColumn, packWide, countSixes, widePanelBytes, countWidePanels, countWholePanels } from './wide-panel';
import { narrowTile, wideTile } from './wide-tile';

/**
 * Maximum number of summands that are packed at a time, a multiple of four. Two panels of 320 summands, 15 KiB each,
 * fit into a first-level cache of 48 KiB. More summands mean fewer passes over C.
 */
const DEPTH: i32 = 320;

/**
 * Number of tile rows that process a block of right panels together. Few panels are then read from the third-level
 * cache.
 */
const GROUP: i32 = 8;

/**
 * Number of right panels of a block. Together with the panels of the group, they fill six tenths of a second-level
 * cache of 1 MiB.
 */
const BLOCK: i32 = 32;

/**
 * Number of bytes of zeros from which every row of a tile of the first slab starts. Scratch for a tile over an edge
 * follows.
 */
const ZERO_BYTES: usize = 48;
const EDGE_BYTES: usize = 144;

/** Scratch bytes of a group of tile rows in addition to panels. */
export const GROUP_SCRATCH: usize = ZERO_BYTES + EDGE_BYTES;

/** Offset of the panels in the scratch memory. */
const PANELS_AT: usize = ZERO_BYTES + EDGE_BYTES + PANEL_SKEW;

/**
 * Returns the additional bytes of native panels. These panels have eight columns, begin at a cache line, and the last
 * one may have empty columns.
 */
function nativeExcess(depth: i32): usize {
  return (<usize>depth << 6) + 64;
}

/** Returns the number of tile rows of the upper triangle of C. */
export function symmetricRankKTileRows(columns: i32): i32 {
  return countWidePanels(columns);
}

export function symmetricRankKScratch(rows: i32, columns: i32): usize {
  const depth = min(rows, DEPTH);
  return PANELS_AT + <usize>countWidePanels(columns) * widePanelBytes(depth) + nativeExcess(depth);
}

/**
 * Computes C = X'X in the upper tiles of the tile rows [first, last) and their mirror images below the diagonal.
 * Ignores the previous content of C. A tile row is a panel of six columns (see `countSixes`). Each entry is summed over
 * the rows in ascending order for any range, as in `algebra/symmetric-rank-k`. Threads that share the tile rows
 * therefore give results that are bit-identical to those of one thread and of the definition.
 */
export function symmetricRankK(x: usize, rows: i32, columns: i32, c: usize, first: i32, last: i32, scratch: usize): void {
  const ld = <usize>columns << 3;
  const slabs = countSlabs(rows);
  memory.fill(scratch, 0, ZERO_BYTES);
  for (let slab = 0; slab < slabs; slab++) {
    const t = getSlabStart(rows, slab);
    const depth = getSlabStart(rows, slab + 1) - t;
    const packed = scratch + PANELS_AT;
    packWide(x + <usize>t * ld, columns, first, depth, packed);
    for (let group = first; group < last; group += GROUP) {
      addGroup(depth, columns, c, group, min(last, group + GROUP), packed, slab == 0, slab == slabs - 1, scratch);
    }
  }
}

export function countSlabs(rows: i32): i32 {
  return max(1, (((rows + 3) >> 2) + DEPTH / 4 - 1) / (DEPTH / 4));
}

/**
 * Returns the first row of a slab. The lengths of slabs differ by at most four rows (one turn of the tiles), so that
 * the last slab is not short.
 */
export function getSlabStart(rows: i32, slab: i32): i32 {
  return min(rows, <i32>(<i64>slab * ((rows + 3) >> 2) / countSlabs(rows)) << 2);
}

/** Computes X'X with all of its tile rows. */
export function wholeSymmetricRankK(x: usize, rows: i32, columns: i32, c: usize, scratch: usize): void {
  if (isNativeProduct(rows, columns)) nativeSymmetricRankK(x, rows, columns, c, scratch);
  else symmetricRankK(x, rows, columns, c, 0, symmetricRankKTileRows(columns), scratch);
}

// @ts-ignore: decorator
@inline
function isNativeProduct(rows: i32, columns: i32): bool {
  return isNative(0.5 * rows * columns * columns);
}

/** Packs all columns of one slab. */
export function packSlab(x: usize, rows: i32, columns: i32, slab: i32, packed: usize): void {
  if (isNativeProduct(rows, columns)) return nativePackSlab(x, rows, columns, slab, packed);
  const t = getSlabStart(rows, slab);
  packWide(x + <usize>t * (<usize>columns << 3), columns, 0, getSlabStart(rows, slab + 1) - t, packed);
}

/** Adds one group of tile rows of a packed slab to C. `scratch` has `GROUP_SCRATCH` bytes of this thread. */
export function addSlabGroup(rows: i32, columns: i32, c: usize, slab: i32, group: i32, packed: usize, scratch: usize): void {
  if (isNativeProduct(rows, columns)) return nativeAddSlabGroup(rows, columns, c, slab, group, packed);
  const first = group * GROUP;
  const last = min(countWidePanels(columns), first + GROUP);
  memory.fill(scratch, 0, ZERO_BYTES);
  addGroup(getSlabStart(rows, slab + 1) - getSlabStart(rows, slab), columns, c, first, last, packed, slab == 0, slab == countSlabs(rows) - 1, scratch);
}

/** Returns the number of groups of tile rows. */
export function countSlabGroups(columns: i32): i32 {
  return (countWidePanels(columns) + GROUP - 1) / GROUP;
}

/** Adds the tile rows [first, last) of one slab, block by block. */
function addGroup(k: i32, columns: i32, c: usize, first: i32, last: i32, packed: usize, isFirst: bool, isLast: bool, scratch: usize): void {
  const panels = countWidePanels(columns);
  const sixes = countSixes(columns);
  const bytes = widePanelBytes(k);
  for (let q = first; q < panels; q += BLOCK) {
    const end = min(panels, q + BLOCK);
    for (let p = first; p < last; p++) addTiles(k, columns, sixes, c, p, max(p, q), end, packed, packed + <usize>p * bytes, isFirst, isLast, scratch);
  }
}

/**
 * Adds the tiles [q, end) of tile row p. Tiles of the last slab are mirrored while they are in the first-level cache.
 */
function addTiles(k: i32, columns: i32, sixes: i32, c: usize, p: i32, q: i32, end: i32, packed: usize, left: usize, isFirst: bool, isLast: bool, scratch: usize): void {
  const ld = <usize>columns << 3;
  const bytes = widePanelBytes(k);
  const lower = left + 24;
  const row = getPanelColumn(p, sixes);
  const column = getPanelColumn(q, sixes);
  const rows = min(columns, getPanelColumn(p + 1, sixes)) - row;
  let right = packed + <usize>q * bytes;
  let tileAddress = c + <usize>row * ld + (<usize>column << 3);
  if (q == p) {
    addDiagonal(k, left, right, tileAddress, ld, rows, isFirst, scratch);
    if (isLast) mirrorEntries(tileAddress, ld, rows);
    right += bytes;
    tileAddress += <usize>rows << 3;
    q++;
  }
  let below = c + <usize>getPanelColumn(q, sixes) * ld + (<usize>row << 3);
  const step = isFirst ? 0 : ld;
  const whole = rows < 6 ? q : min(end, countWholePanels(columns, sixes));
  for (; q < whole; q++) {
    const under = tileAddress + 3 * ld;
    wideTile(k, left, right, isFirst ? scratch : tileAddress, step, tileAddress, ld);
    wideTile(k, lower, right, isFirst ? scratch : under, step, under, ld);
    if (isLast) {
      mirrorPair(tileAddress, below, ld);
      mirrorPair(tileAddress + 16, below + (ld << 1), ld);
      mirrorPair(tileAddress + 32, below + (ld << 2), ld);
    }
    right += bytes;
    tileAddress += 48;
    below += 6 * ld;
  }
  for (; q < end; q++) {
    const width = min(columns, getPanelColumn(q + 1, sixes)) - getPanelColumn(q, sixes);
    addTile(k, left, right, tileAddress, ld, min(3, rows), width, isFirst, scratch);
    if (rows > 3) addTile(k, lower, right, tileAddress + 3 * ld, ld, rows - 3, width, isFirst, scratch);
    if (isLast) mirrorColumns(tileAddress, below, ld, rows, width);
    right += bytes;
    tileAddress += <usize>width << 3;
    below += <usize>width * ld;
  }
}

/**
 * Adds the tiles on the diagonal. The lower rows begin at the third column, because their entries before the fourth
 * column are below the diagonal.
 */
function addDiagonal(k: i32, left: usize, right: usize, tileAddress: usize, ld: usize, rows: i32, isFirst: bool, scratch: usize): void {
  addTile(k, left, right, tileAddress, ld, min(3, rows), rows, isFirst, scratch);
  if (rows > 3) addTile(k, left + 24, right + 16, tileAddress + 3 * ld + 16, ld, rows - 3, rows - 2, isFirst, scratch);
}

/** Computes one tile, of which `rows` x `columns` entries exist; the first slab starts from zeros. */
// @ts-ignore: decorator
@inline
function addTile(k: i32, a: usize, b: usize, c: usize, ldc: usize, rows: i32, columns: i32, isFirst: bool, scratch: usize): void {
  if (rows < 3 || (columns != 6 && columns != 4)) addEdge(k, a, b, c, ldc, rows, columns, isFirst, scratch + ZERO_BYTES);
  else multiplySingleTile(k, a, b, isFirst ? scratch : c, isFirst ? 0 : ldc, c, ldc, columns);
}

function addEdge(k: i32, a: usize, b: usize, c: usize, ldc: usize, rows: i32, columns: i32, isFirst: bool, edge: usize): void {
  const width = <usize>columns << 3;
  memory.fill(edge, 0, EDGE_BYTES);
  if (!isFirst) for (let i = 0; i < rows; i++) memory.copy(edge + <usize>i * 48, c + <usize>i * ldc, width);
  multiplySingleTile(k, a, b, edge, 48, edge, 48, columns);
  for (let i = 0; i < rows; i++) memory.copy(c + <usize>i * ldc, edge + <usize>i * 48, width);
}

/** Computes a separate tile, wide enough for the remaining columns. */
function multiplySingleTile(k: i32, a: usize, b: usize, from: usize, step: usize, c: usize, ldc: usize, columns: i32): void {
  if (columns > 4) wideTile(k, a, b, from, step, c, ldc);
  else narrowTile(k, a, b, from, step, c, ldc);
}

/** Transposes two columns of six rows into two rows of six columns. */
function mirrorPair(from: usize, to: usize, ld: usize): void {
  transposePair(from, ld, to, to + ld);
  from += ld << 1;
  transposePair(from, ld, to + 16, to + ld + 16);
  from += ld << 1;
  transposePair(from, ld, to + 32, to + ld + 32);
}

// @ts-ignore: decorator
@inline
function transposePair(from: usize, ld: usize, to: usize, next: usize): void {
  const upper = v128.load(from);
  const lower = v128.load(from + ld);
  v128.store(to, v128.shuffle<f64>(upper, lower, 0, 2));
  v128.store(next, v128.shuffle<f64>(upper, lower, 1, 3));
}

/** Works like `mirrorPair` for any number of columns and rows. */
function mirrorColumns(from: usize, to: usize, ld: usize, rows: i32, columns: i32): void {
  for (let j = 0; j < columns; j++) {
    for (let i = 0; i < rows; i++) store<f64>(to + <usize>j * ld + (<usize>i << 3), load<f64>(from + <usize>i * ld + (<usize>j << 3)));
  }
}

/** Mirrors the entries of a diagonal tile below its diagonal. */
function mirrorEntries(tileAddress: usize, ld: usize, n: i32): void {
  for (let i = 1; i < n; i++) {
    for (let j = 0; j < i; j++) store<f64>(tileAddress + <usize>i * ld + (<usize>j << 3), load<f64>(tileAddress + <usize>j * ld + (<usize>i << 3)));
  }
}
