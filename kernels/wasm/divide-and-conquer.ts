import { mergeBlocks, deflate, groupRows, mergeOrders } from './deflate';
import {
  copies, DEFLATED, diagonal, insert, readInteger, getList, offDiagonal, openMergeMemory, ORDER, order, readReal, rowsAddress, setInt, setReal, stride,
  VALUES, vector, requestedCount,
} from './merge-memory';
import { findRoots, computeVectors, multiplyRows, saveRows } from './merged-rows';
import { tridiagonalQl } from './tridiagonal-ql';

/** Maximum order of a problem that is solved directly. */
const LEAF: i32 = 32;

/**
 * Computes all eigenvalues of a symmetric tridiagonal matrix, ascending, in `d`. Writes the unit vectors of the largest
 * `count` eigenvalues as the last rows of `q` [n x n]; the other rows are undefined. `e` is overwritten. A vector is
 * bit-identical for any count. The method is Cuppen's divide and conquer with deflation. Vectors follow from the
 * Loewner formula, so that they are orthogonal to working precision. Sources: Cuppen (1981), Numerische Mathematik 36,
 * 177-195; Gu & Eisenstat (1995), SIAM J. Matrix Anal. Appl. 16(1), 172-191.
 */
export function tridiagonalEigen(d: usize, e: usize, n: i32, count: i32, q: usize, scratch: usize): bool {
  openMergeMemory(d, e, n, count, q, scratch);
  memory.fill(q, 0, <usize>n * stride);
  // The matrix is first scaled to size 1, exactly, because deflation compares values with entries of unit vectors.
  const scale = findScalePower(d, e, n);
  rescale(d, n, scale);
  rescale(e, n, scale);
  if (!solve(0, n)) return false;
  sortRows(n);
  rescale(d, n, 1 / scale);
  return true;
}

/** Returns the power of two that scales the largest entry into [1, 2). */
function findScalePower(d: usize, e: usize, n: i32): f64 {
  let largest: f64 = 0;
  for (let i = 0; i < n; i++) largest = max(largest, max(abs(readReal(d, i)), abs(readReal(e, i))));
  let scale: f64 = 1;
  for (; largest >= 2; largest *= 0.5) scale *= 0.5;
  for (; largest > 0 && largest < 1 && scale < 1e300; largest *= 2) scale *= 2;
  return scale;
}

function rescale(values: usize, n: i32, factor: f64): void {
  for (let i = 0; i < n; i++) setReal(values, i, factor * readReal(values, i));
}

function solve(low: i32, n: i32): bool {
  if (n <= LEAF) return solveLeaf(low, n);
  const left = n >> 1;
  const cut = low + left;
  const coupling = readReal(offDiagonal, cut - 1);
  const rho = abs(coupling);
  setReal(diagonal, cut - 1, readReal(diagonal, cut - 1) - rho);
  setReal(diagonal, cut, readReal(diagonal, cut) - rho);
  if (!solve(low, left) || !solve(cut, n - left)) return false;
  merge(low, left, n - left, rho, coupling < 0 ? -1 : 1);
  return true;
}

function solveLeaf(low: i32, n: i32): bool {
  const block = rowsAddress + <usize>low * (stride + 8);
  for (let i = 0; i < n; i++) store<f64>(block + <usize>i * (stride + 8), 1);
  const d = diagonal + (<usize>low << 3);
  if (!tridiagonalQl(d, offDiagonal + (<usize>low << 3), n, block, n, stride)) return false;
  const sorted = getList(ORDER) + (<usize>low << 2);
  for (let i = 0; i < n; i++) insert(sorted, i, i, d);
  return true;
}

/**
 * Merges two solved neighbours that are coupled by rho u u', u = (.., 1, sign, ..). All indices are relative to `low`.
 */
function merge(low: i32, left: i32, right: i32, rho: f64, sign: f64): void {
  const n = left + right;
  const block = rowsAddress + <usize>low * (stride + 8);
  const d = diagonal + (<usize>low << 3);
  mergeBlocks(block, left, n, sign);
  mergeOrders(low, left, n, d);
  const keptCount = deflate(low, left, n, 2 * rho, block, d);
  const counts = groupRows(low, keptCount);
  saveRows(low, left, n, keptCount, counts, block, d);
  if (keptCount > 0) {
    findRoots(keptCount, 2 * rho);
    // Roots ascend. The last merge therefore needs only the last rows.
    const first = n == order ? max(0, keptCount - requestedCount) : 0;
    computeVectors(low, first, keptCount);
    multiplyRows(left, right, first, keptCount, counts, block);
  }
  finishOrder(low, n, keptCount, d);
}

/** Assigns values to their rows, and computes the ascending order of all rows. */
function finishOrder(low: i32, n: i32, keptCount: i32, d: usize): void {
  memory.copy(d, vector(VALUES), <usize>n << 3);
  const sorted = getList(ORDER) + (<usize>low << 2);
  const aside = getList(DEFLATED);
  for (let k = 0; k < n - keptCount; k++) insert(aside, k, keptCount + k, d);
  let i = 0;
  let j = 0;
  for (let t = 0; t < n; t++) {
    const takeKept = j == n - keptCount || (i < keptCount && readReal(d, i) <= readReal(d, readInteger(aside, j)));
    if (takeKept) setInt(sorted, t, i++);
    else setInt(sorted, t, readInteger(aside, j++));
  }
}

/**
 * Sorts the values and the requested rows in ascending order. This happens only at the end, because merges only
 * maintain lists.
 */
function sortRows(n: i32): void {
  const sorted = getList(ORDER);
  const first = n - requestedCount;
  for (let t = 0; t < n; t++) {
    const from = readInteger(sorted, t);
    setReal(vector(VALUES), t, readReal(diagonal, from));
    if (t >= first) memory.copy(copies + <usize>t * stride, rowsAddress + <usize>from * stride, stride);
  }
  memory.copy(diagonal, vector(VALUES), stride);
  const skip = <usize>first * stride;
  memory.copy(rowsAddress + skip, copies + skip, <usize>requestedCount * stride);
}
