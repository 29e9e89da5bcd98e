import { DEFLATED, readInteger, KIND, getList, ORDER, POSITION, POLES, readReal, setInt, setReal, SORTED, SOURCE, SQUARES, stride, vector, Z } from './merge-memory';
import { rotate } from './tridiagonal-ql';

// Halves in which a row has nonzero entries.
const LEFT: i32 = 1;
const MIXED: i32 = 2;
const RIGHT: i32 = 3;

/** Computes z = (last column of the left rows, sign times the first column of the right rows) / sqrt 2. */
export function mergeBlocks(block: usize, left: i32, n: i32, sign: f64): void {
  const z = vector(Z);
  for (let k = 0; k < left; k++) setReal(z, k, Math.SQRT1_2 * load<f64>(block + <usize>k * stride + (<usize>(left - 1) << 3)));
  for (let k = left; k < n; k++) setReal(z, k, sign * Math.SQRT1_2 * load<f64>(block + <usize>k * stride + (<usize>left << 3)));
}

export function mergeOrders(low: i32, left: i32, n: i32, d: usize): void {
  const first = getList(ORDER) + (<usize>low << 2);
  const second = first + (<usize>left << 2);
  const sorted = getList(SORTED);
  let i = 0;
  let j = 0;
  for (let t = 0; t < n; t++) {
    const takeFirst = j == n - left || (i < left && readReal(d, readInteger(first, i)) <= readReal(d, left + readInteger(second, j)));
    if (takeFirst) setInt(sorted, t, readInteger(first, i++));
    else setInt(sorted, t, left + readInteger(second, j++));
  }
}

/**
 * Removes eigenvalues that the coupling does not change from the problem. These are eigenvalues with a negligible entry
 * of z, and one of two equal eigenvalues, after a rotation that moves their whole coupling to the other. Returns the
 * number of remaining eigenvalues. SOURCE lists them, ascending.
 */
export function deflate(low: i32, left: i32, n: i32, rho: f64, block: usize, d: usize): i32 {
  const z = vector(Z);
  const sorted = getList(SORTED);
  const kind = getList(KIND);
  let largest: f64 = 0;
  for (let k = 0; k < n; k++) {
    largest = max(largest, max(abs(readReal(d, k)), abs(readReal(z, k))));
    setInt(kind, k, k < left ? LEFT : RIGHT);
  }
  const tolerance = 8 * f64.EPSILON * largest;
  let keptCount = 0;
  let aside = 0;
  let previous = -1;
  for (let t = 0; t < n; t++) {
    const next = readInteger(sorted, t);
    if (rho * abs(readReal(z, next)) <= tolerance) {
      setInt(getList(DEFLATED), aside++, next);
      continue;
    }
    if (previous >= 0) {
      if (rotateAway(previous, next, tolerance, n, block, d)) setInt(getList(DEFLATED), aside++, previous);
      else keepEntry(keptCount++, previous, d);
    }
    previous = next;
  }
  if (previous >= 0) keepEntry(keptCount++, previous, d);
  return keptCount;
}

function keepEntry(position: i32, index: i32, d: usize): void {
  const z = readReal(vector(Z), index);
  setInt(getList(SOURCE), position, index);
  setReal(vector(POLES), position, readReal(d, index));
  setReal(vector(SQUARES), position, z * z);
}

/**
 * Rotates the coupling of pole p into pole q if the poles are so near that this changes the matrix only within
 * rounding. Returns true if it did.
 */
function rotateAway(p: i32, q: i32, tolerance: f64, n: i32, block: usize, d: usize): bool {
  const z = vector(Z);
  const zp = readReal(z, p);
  const zq = readReal(z, q);
  const tau = sqrt(zp * zp + zq * zq);
  const c = zq / tau;
  const s = -zp / tau;
  const dp = readReal(d, p);
  const dq = readReal(d, q);
  if (abs((dq - dp) * c * s) > tolerance) return false;
  setReal(z, q, tau);
  setReal(z, p, 0);
  const kind = getList(KIND);
  if (readInteger(kind, p) != readInteger(kind, q)) setInt(kind, q, MIXED);
  rotateRows(block + <usize>p * stride, block + <usize>q * stride, n, c, s);
  setReal(d, p, dp * c * c + dq * s * s);
  setReal(d, q, dp * s * s + dq * c * c);
  return true;
}

/** p := c p + s q, q := c q - s p. */
function rotateRows(p: usize, q: usize, n: i32, c: f64, s: f64): void {
  rotate(p, q - p, n, c, -s);
}

/**
 * Computes the positions of the remaining rows, ordered as left, mixed and right rows. Returns their numbers as (left |
 * mixed << 32).
 */
export function groupRows(low: i32, keptCount: i32): i64 {
  const kind = getList(KIND);
  let lefts = 0;
  let mixed = 0;
  for (let k = 0; k < keptCount; k++) {
    const rowKind = readInteger(kind, readInteger(getList(SOURCE), k));
    if (rowKind == LEFT) lefts++;
    else if (rowKind == MIXED) mixed++;
  }
  let nextLeft = 0;
  let nextMixed = lefts;
  let nextRight = lefts + mixed;
  for (let k = 0; k < keptCount; k++) {
    const rowKind = readInteger(kind, readInteger(getList(SOURCE), k));
    setInt(getList(POSITION), k, rowKind == LEFT ? nextLeft++ : rowKind == MIXED ? nextMixed++ : nextRight++);
  }
  return <i64>lefts | (<i64>mixed << 32);
}
