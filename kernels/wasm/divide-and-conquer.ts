import { gemmScratch } from './gemm';
import { secularRoot } from './secular';
import { teamGemm } from './team';
import { rotate, tridiagonalQl } from './tridiagonal-ql';

/** Orders solved directly. */
const LEAF: i32 = 32;

// Vectors of n that a merge works with, one after the other in scratch.
const Z: i32 = 0;
const POLES: i32 = 1;
const SQUARES: i32 = 2;
const LOEWNER: i32 = 3;
const ROW: i32 = 4;
const VALUES: i32 = 5;
const INTEGERS: i32 = 6; // ORDER, SORTED, KIND, SOURCE, PLACE, DEFLATED: n int32 each
const VECTORS: i32 = 9;

const LEFT: i32 = 1;
const MIXED: i32 = 2;
const RIGHT: i32 = 3;

export function divideAndConquerScratch(n: i32): usize {
  return <usize>VECTORS * (<usize>n << 3) + 2 * (<usize>n * <usize>n << 3) + gemmScratch();
}

let order: i32 = 0;
/** Largest eigenpairs whose vectors are wanted. */
let wanted: i32 = 0;
let diagonal: usize = 0;
let offDiagonal: usize = 0;
let rowsAt: usize = 0;
let stride: usize = 0;
let vectors: usize = 0;
let copies: usize = 0;
let mixing: usize = 0;
let product: usize = 0;

/**
 * Returns all eigenvalues of a symmetric tridiagonal matrix ascending in `d`, and the unit vectors of the largest
 * `count` as the last rows of `q` [n x n]; what is in the others means nothing. `e` is spent. A vector has the same
 * bits however many are wanted. Cuppen's divide and conquer with deflation; vectors from the Loewner formula, so that
 * they are orthogonal to working precision. Sources: Cuppen (1981), Numerische Mathematik 36, 177-195; Gu & Eisenstat
 * (1995), SIAM J. Matrix Anal. Appl. 16(1), 172-191.
 */
export function tridiagonalEigen(d: usize, e: usize, n: i32, count: i32, q: usize, scratch: usize): bool {
  order = n;
  wanted = count;
  diagonal = d;
  offDiagonal = e;
  rowsAt = q;
  stride = <usize>n << 3;
  vectors = scratch;
  copies = scratch + <usize>VECTORS * stride;
  mixing = copies + <usize>n * stride;
  product = mixing + <usize>n * stride;
  memory.fill(q, 0, <usize>n * stride);
  // Deflation compares values with entries of unit vectors: the matrix is brought to size 1 first, exactly.
  const scale = powerNear(d, e, n);
  rescale(d, n, scale);
  rescale(e, n, scale);
  if (!solve(0, n)) return false;
  sortRows(n);
  rescale(d, n, 1 / scale);
  return true;
}

/** Returns the power of two that brings the largest entry into [1, 2). */
function powerNear(d: usize, e: usize, n: i32): f64 {
  let largest: f64 = 0;
  for (let i = 0; i < n; i++) largest = max(largest, max(abs(real(d, i)), abs(real(e, i))));
  let scale: f64 = 1;
  for (; largest >= 2; largest *= 0.5) scale *= 0.5;
  for (; largest > 0 && largest < 1 && scale < 1e300; largest *= 2) scale *= 2;
  return scale;
}

function rescale(values: usize, n: i32, factor: f64): void {
  for (let i = 0; i < n; i++) setReal(values, i, factor * real(values, i));
}

// @ts-ignore: decorator
@inline
function vector(k: i32): usize {
  return vectors + <usize>k * stride;
}

/** Integer list k of a merge, indexed from the start of the whole matrix. */
// @ts-ignore: decorator
@inline
function list(k: i32): usize {
  return vectors + <usize>INTEGERS * stride + <usize>k * (<usize>order << 2);
}
const ORDER: i32 = 0;
const SORTED: i32 = 1;
const KIND: i32 = 2;
const SOURCE: i32 = 3;
const PLACE: i32 = 4;
const DEFLATED: i32 = 5;

// @ts-ignore: decorator
@inline
function int(p: usize, i: i32): i32 {
  return load<i32>(p + (<usize>i << 2));
}

// @ts-ignore: decorator
@inline
function setInt(p: usize, i: i32, value: i32): void {
  store<i32>(p + (<usize>i << 2), value);
}

// @ts-ignore: decorator
@inline
function real(p: usize, i: i32): f64 {
  return load<f64>(p + (<usize>i << 3));
}

// @ts-ignore: decorator
@inline
function setReal(p: usize, i: i32, value: f64): void {
  store<f64>(p + (<usize>i << 3), value);
}

function solve(low: i32, n: i32): bool {
  if (n <= LEAF) return solveLeaf(low, n);
  const left = n >> 1;
  const cut = low + left;
  const coupling = real(offDiagonal, cut - 1);
  const rho = abs(coupling);
  setReal(diagonal, cut - 1, real(diagonal, cut - 1) - rho);
  setReal(diagonal, cut, real(diagonal, cut) - rho);
  if (!solve(low, left) || !solve(cut, n - left)) return false;
  merge(low, left, n - left, rho, coupling < 0 ? -1 : 1);
  return true;
}

function solveLeaf(low: i32, n: i32): bool {
  const block = rowsAt + <usize>low * (stride + 8);
  for (let i = 0; i < n; i++) store<f64>(block + <usize>i * (stride + 8), 1);
  const d = diagonal + (<usize>low << 3);
  if (!tridiagonalQl(d, offDiagonal + (<usize>low << 3), n, block, n, stride)) return false;
  const sorted = list(ORDER) + (<usize>low << 2);
  for (let i = 0; i < n; i++) insert(sorted, i, i, d);
  return true;
}

/** Inserts an index into a list kept ascending by value. */
function insert(sorted: usize, count: i32, index: i32, values: usize): void {
  const value = real(values, index);
  let at = count;
  while (at > 0 && real(values, int(sorted, at - 1)) > value) {
    setInt(sorted, at, int(sorted, at - 1));
    at--;
  }
  setInt(sorted, at, index);
}

/** Joins two solved neighbours that are coupled by rho u u', u = (.., 1, sign, ..). All indices are relative to `low`. */
function merge(low: i32, left: i32, right: i32, rho: f64, sign: f64): void {
  const n = left + right;
  const block = rowsAt + <usize>low * (stride + 8);
  const d = diagonal + (<usize>low << 3);
  couple(block, left, n, sign);
  mergeOrders(low, left, n, d);
  const kept = deflate(low, left, n, 2 * rho, block, d);
  const counts = group(low, kept);
  saveRows(low, left, n, kept, counts, block, d);
  if (kept > 0) {
    findRoots(kept, 2 * rho);
    // Roots ascend: of the last join no more than the last rows are looked at.
    const first = n == order ? max(0, kept - wanted) : 0;
    makeVectors(low, first, kept);
    multiply(left, right, first, kept, counts, block);
  }
  finishOrder(low, n, kept, d);
}

/** z = (last column of the left rows, sign times the first column of the right rows) / sqrt 2. */
function couple(block: usize, left: i32, n: i32, sign: f64): void {
  const z = vector(Z);
  for (let k = 0; k < left; k++) setReal(z, k, Math.SQRT1_2 * load<f64>(block + <usize>k * stride + (<usize>(left - 1) << 3)));
  for (let k = left; k < n; k++) setReal(z, k, sign * Math.SQRT1_2 * load<f64>(block + <usize>k * stride + (<usize>left << 3)));
}

function mergeOrders(low: i32, left: i32, n: i32, d: usize): void {
  const first = list(ORDER) + (<usize>low << 2);
  const second = first + (<usize>left << 2);
  const sorted = list(SORTED);
  let i = 0;
  let j = 0;
  for (let t = 0; t < n; t++) {
    const takeFirst = j == n - left || (i < left && real(d, int(first, i)) <= real(d, left + int(second, j)));
    if (takeFirst) setInt(sorted, t, int(first, i++));
    else setInt(sorted, t, left + int(second, j++));
  }
}

/**
 * Sets aside what the coupling does not reach: entries of z too small to matter, and of two equal eigenvalues one, after
 * a rotation that moves their whole coupling to the other. Returns how many are left; SOURCE names them, ascending.
 */
function deflate(low: i32, left: i32, n: i32, rho: f64, block: usize, d: usize): i32 {
  const z = vector(Z);
  const sorted = list(SORTED);
  const kind = list(KIND);
  let largest: f64 = 0;
  for (let k = 0; k < n; k++) {
    largest = max(largest, max(abs(real(d, k)), abs(real(z, k))));
    setInt(kind, k, k < left ? LEFT : RIGHT);
  }
  const tolerance = 8 * f64.EPSILON * largest;
  let kept = 0;
  let aside = 0;
  let previous = -1;
  for (let t = 0; t < n; t++) {
    const next = int(sorted, t);
    if (rho * abs(real(z, next)) <= tolerance) {
      setInt(list(DEFLATED), aside++, next);
      continue;
    }
    if (previous >= 0) {
      if (rotateAway(previous, next, tolerance, n, block, d)) setInt(list(DEFLATED), aside++, previous);
      else keep(kept++, previous, d);
    }
    previous = next;
  }
  if (previous >= 0) keep(kept++, previous, d);
  return kept;
}

function keep(at: i32, index: i32, d: usize): void {
  const z = real(vector(Z), index);
  setInt(list(SOURCE), at, index);
  setReal(vector(POLES), at, real(d, index));
  setReal(vector(SQUARES), at, z * z);
}

/**
 * Returns true if two poles are so near that rotating the coupling of p into q changes the matrix by no more than
 * rounding.
 */
function rotateAway(p: i32, q: i32, tolerance: f64, n: i32, block: usize, d: usize): bool {
  const z = vector(Z);
  const zp = real(z, p);
  const zq = real(z, q);
  const tau = sqrt(zp * zp + zq * zq);
  const c = zq / tau;
  const s = -zp / tau;
  const dp = real(d, p);
  const dq = real(d, q);
  if (abs((dq - dp) * c * s) > tolerance) return false;
  setReal(z, q, tau);
  setReal(z, p, 0);
  const kind = list(KIND);
  if (int(kind, p) != int(kind, q)) setInt(kind, q, MIXED);
  rotateRows(block + <usize>p * stride, block + <usize>q * stride, n, c, s);
  setReal(d, p, dp * c * c + dq * s * s);
  setReal(d, q, dp * s * s + dq * c * c);
  return true;
}

/** p := c p + s q, q := c q - s p. */
function rotateRows(p: usize, q: usize, n: i32, c: f64, s: f64): void {
  rotate(p, q - p, n, c, -s);
}

/** Places of the kept rows when those of the left half come first and those of the right last; packs (left | mixed << 32). */
function group(low: i32, kept: i32): i64 {
  const kind = list(KIND);
  let lefts = 0;
  let mixed = 0;
  for (let k = 0; k < kept; k++) {
    const own = int(kind, int(list(SOURCE), k));
    if (own == LEFT) lefts++;
    else if (own == MIXED) mixed++;
  }
  let nextLeft = 0;
  let nextMixed = lefts;
  let nextRight = lefts + mixed;
  for (let k = 0; k < kept; k++) {
    const own = int(kind, int(list(SOURCE), k));
    setInt(list(PLACE), k, own == LEFT ? nextLeft++ : own == MIXED ? nextMixed++ : nextRight++);
  }
  return <i64>lefts | (<i64>mixed << 32);
}

/** Copies the rows the product needs, compactly: left halves of left and mixed rows, right halves of mixed and right ones; then the set-aside rows. */
function saveRows(low: i32, left: i32, n: i32, kept: i32, counts: i64, block: usize, d: usize): void {
  const lefts = <i32>(counts & 0xffffffff);
  const mixed = <i32>(counts >> 32);
  const leftBytes = <usize>left << 3;
  const rightBytes = <usize>(n - left) << 3;
  const rightCopies = copies + <usize>(lefts + mixed) * leftBytes;
  for (let k = 0; k < kept; k++) {
    const row = block + <usize>int(list(SOURCE), k) * stride;
    const place = int(list(PLACE), k);
    if (place < lefts + mixed) memory.copy(copies + <usize>place * leftBytes, row, leftBytes);
    if (place >= lefts) memory.copy(rightCopies + <usize>(place - lefts) * rightBytes, row + leftBytes, rightBytes);
  }
  const asideCopies = rightCopies + <usize>(kept - lefts) * rightBytes;
  const bytes = <usize>n << 3;
  for (let k = 0; k < n - kept; k++) {
    const index = int(list(DEFLATED), k);
    memory.copy(asideCopies + <usize>k * bytes, block + <usize>index * stride, bytes);
    setReal(vector(VALUES), kept + k, real(d, index));
  }
  for (let k = 0; k < kept; k++) memory.fill(block + <usize>k * stride, 0, bytes);
  for (let k = 0; k < n - kept; k++) memory.copy(block + <usize>(kept + k) * stride, asideCopies + <usize>k * bytes, bytes);
}

/** Roots into VALUES, their distances from the poles into the rows of MIXING. */
function findRoots(kept: i32, rho: f64): void {
  const row = <usize>kept << 3;
  for (let i = 0; i < kept; i++) {
    setReal(vector(VALUES), i, secularRoot(i, kept, vector(POLES), vector(SQUARES), rho, mixing + <usize>i * row));
  }
}

/** Replaces the distances, from row `first` on, by unit eigenvectors of D + rho z z', z recomputed so that the found roots are exact for it. */
function makeVectors(low: i32, first: i32, kept: i32): void {
  const row = <usize>kept << 3;
  const poles = vector(POLES);
  const zs = vector(LOEWNER);
  for (let j = 0; j < kept; j++) setReal(zs, j, -real(mixing + <usize>j * row, j));
  for (let i = 0; i < kept; i++) {
    const pole = real(poles, i);
    const distances = mixing + <usize>i * row;
    multiplyRatios(0, i, pole, distances, poles, zs);
    multiplyRatios(i + 1, kept, pole, distances, poles, zs);
  }
  const z = vector(Z);
  for (let j = 0; j < kept; j++) {
    const root = sqrt(abs(real(zs, j)));
    setReal(zs, j, real(z, int(list(SOURCE), j)) < 0 ? -root : root);
  }
  for (let i = first; i < kept; i++) normaliseRow(mixing + <usize>i * row, kept, zs);
}

/** zs_j *= distance_j / (pole_j - pole) over a range that leaves out the pole itself. */
function multiplyRatios(from: i32, to: i32, pole: f64, distances: usize, poles: usize, zs: usize): void {
  const own = f64x2.splat(pole);
  let j = from;
  for (; j + 2 <= to; j += 2) {
    const o = <usize>j << 3;
    const ratio = f64x2.div(v128.load(distances + o), f64x2.sub(v128.load(poles + o), own));
    v128.store(zs + o, f64x2.mul(v128.load(zs + o), ratio));
  }
  if (j < to) setReal(zs, j, real(zs, j) * (real(distances, j) / (real(poles, j) - pole)));
}

function normaliseRow(row: usize, kept: i32, zs: usize): void {
  const values = vector(ROW);
  let norm2: f64 = 0;
  for (let j = 0; j < kept; j++) {
    const value = real(zs, j) / real(row, j);
    setReal(values, j, value);
    norm2 += value * value;
  }
  const factor = 1 / sqrt(norm2);
  for (let j = 0; j < kept; j++) setReal(row, int(list(PLACE), j), factor * real(values, j));
}

/** New rows, from row `first` on = mixing x old rows, half by half. */
function multiply(left: i32, right: i32, first: i32, kept: i32, counts: i64, block: usize): void {
  const lefts = <i32>(counts & 0xffffffff);
  const mixed = <i32>(counts >> 32);
  const row = <usize>kept << 3;
  const leftBytes = <usize>left << 3;
  const rightBytes = <usize>right << 3;
  const rightCopies = copies + <usize>(lefts + mixed) * leftBytes;
  const rows = kept - first;
  const factors = mixing + <usize>first * row;
  const out = block + <usize>first * stride;
  teamGemm(rows, lefts + mixed, left, factors, row, 8, copies, leftBytes, 8, out, stride, 1, false, product);
  teamGemm(rows, kept - lefts, right, factors + (<usize>lefts << 3), row, 8, rightCopies, rightBytes, 8, out + leftBytes, stride, 1, false, product);
}

/** Values to their rows, and the ascending order of all rows. */
function finishOrder(low: i32, n: i32, kept: i32, d: usize): void {
  memory.copy(d, vector(VALUES), <usize>n << 3);
  const sorted = list(ORDER) + (<usize>low << 2);
  const aside = list(DEFLATED);
  for (let k = 0; k < n - kept; k++) insert(aside, k, kept + k, d);
  let i = 0;
  let j = 0;
  for (let t = 0; t < n; t++) {
    const takeKept = j == n - kept || (i < kept && real(d, i) <= real(d, int(aside, j)));
    if (takeKept) setInt(sorted, t, i++);
    else setInt(sorted, t, int(aside, j++));
  }
}

/** Brings values and the rows that are wanted into ascending order at the very end: merges only keep lists. */
function sortRows(n: i32): void {
  const sorted = list(ORDER);
  const first = n - wanted;
  for (let t = 0; t < n; t++) {
    const from = int(sorted, t);
    setReal(vector(VALUES), t, real(diagonal, from));
    if (t >= first) memory.copy(copies + <usize>t * stride, rowsAt + <usize>from * stride, stride);
  }
  memory.copy(diagonal, vector(VALUES), stride);
  const skip = <usize>first * stride;
  memory.copy(rowsAt + skip, copies + skip, <usize>wanted * stride);
}
