import { copies, DEFLATED, readInteger, getList, LOEWNER, mixing, POSITION, POLES, product, readReal, ROW, setReal, SOURCE, SQUARES, stride, VALUES, vector, Z } from './merge-memory';
import { secularRoot } from './secular';
import { teamGemm } from './team';

/**
 * Copies the rows that the product needs into contiguous memory. First come the left halves of left and mixed rows,
 * then the right halves of mixed and right rows, then the deflated rows.
 */
export function saveRows(low: i32, left: i32, n: i32, keptCount: i32, counts: i64, block: usize, d: usize): void {
  const lefts = <i32>(counts & 0xffffffff);
  const mixed = <i32>(counts >> 32);
  const leftBytes = <usize>left << 3;
  const rightBytes = <usize>(n - left) << 3;
  const rightCopies = copies + <usize>(lefts + mixed) * leftBytes;
  for (let k = 0; k < keptCount; k++) {
    const row = block + <usize>readInteger(getList(SOURCE), k) * stride;
    const place = readInteger(getList(POSITION), k);
    if (place < lefts + mixed) memory.copy(copies + <usize>place * leftBytes, row, leftBytes);
    if (place >= lefts) memory.copy(rightCopies + <usize>(place - lefts) * rightBytes, row + leftBytes, rightBytes);
  }
  const asideCopies = rightCopies + <usize>(keptCount - lefts) * rightBytes;
  const bytes = <usize>n << 3;
  for (let k = 0; k < n - keptCount; k++) {
    const index = readInteger(getList(DEFLATED), k);
    memory.copy(asideCopies + <usize>k * bytes, block + <usize>index * stride, bytes);
    setReal(vector(VALUES), keptCount + k, readReal(d, index));
  }
  for (let k = 0; k < keptCount; k++) memory.fill(block + <usize>k * stride, 0, bytes);
  for (let k = 0; k < n - keptCount; k++) memory.copy(block + <usize>(keptCount + k) * stride, asideCopies + <usize>k * bytes, bytes);
}

/** Computes the roots into VALUES and their distances from the poles into the rows of MIXING. */
export function findRoots(keptCount: i32, rho: f64): void {
  const row = <usize>keptCount << 3;
  for (let i = 0; i < keptCount; i++) {
    setReal(vector(VALUES), i, secularRoot(i, keptCount, vector(POLES), vector(SQUARES), rho, mixing + <usize>i * row));
  }
}

/**
 * Replaces the distances, from row `first` on, by unit eigenvectors of D + rho z z'. z is recomputed so that the
 * computed roots are exact for it.
 */
export function computeVectors(low: i32, first: i32, keptCount: i32): void {
  const row = <usize>keptCount << 3;
  const poles = vector(POLES);
  const zs = vector(LOEWNER);
  for (let j = 0; j < keptCount; j++) setReal(zs, j, -readReal(mixing + <usize>j * row, j));
  for (let i = 0; i < keptCount; i++) {
    const pole = readReal(poles, i);
    const distances = mixing + <usize>i * row;
    multiplyRatios(0, i, pole, distances, poles, zs);
    multiplyRatios(i + 1, keptCount, pole, distances, poles, zs);
  }
  const z = vector(Z);
  for (let j = 0; j < keptCount; j++) {
    const root = sqrt(abs(readReal(zs, j)));
    setReal(zs, j, readReal(z, readInteger(getList(SOURCE), j)) < 0 ? -root : root);
  }
  for (let i = first; i < keptCount; i++) normaliseRow(mixing + <usize>i * row, keptCount, zs);
}

/** Computes zs_j *= distance_j / (pole_j - pole) over a range that excludes the pole itself. */
function multiplyRatios(from: i32, to: i32, pole: f64, distances: usize, poles: usize, zs: usize): void {
  const pole2 = f64x2.splat(pole);
  let j = from;
  for (; j + 2 <= to; j += 2) {
    const o = <usize>j << 3;
    const ratio = f64x2.div(v128.load(distances + o), f64x2.sub(v128.load(poles + o), pole2));
    v128.store(zs + o, f64x2.mul(v128.load(zs + o), ratio));
  }
  if (j < to) setReal(zs, j, readReal(zs, j) * (readReal(distances, j) / (readReal(poles, j) - pole)));
}

function normaliseRow(row: usize, keptCount: i32, zs: usize): void {
  const values = vector(ROW);
  let norm2: f64 = 0;
  for (let j = 0; j < keptCount; j++) {
    const value = readReal(zs, j) / readReal(row, j);
    setReal(values, j, value);
    norm2 += value * value;
  }
  const factor = 1 / sqrt(norm2);
  for (let j = 0; j < keptCount; j++) setReal(row, readInteger(getList(POSITION), j), factor * readReal(values, j));
}

/** Computes the new rows, from row `first` on, as mixing x old rows, half by half. */
export function multiplyRows(left: i32, right: i32, first: i32, keptCount: i32, counts: i64, block: usize): void {
  const lefts = <i32>(counts & 0xffffffff);
  const mixed = <i32>(counts >> 32);
  const row = <usize>keptCount << 3;
  const leftBytes = <usize>left << 3;
  const rightBytes = <usize>right << 3;
  const rightCopies = copies + <usize>(lefts + mixed) * leftBytes;
  const rows = keptCount - first;
  const factors = mixing + <usize>first * row;
  const out = block + <usize>first * stride;
  teamGemm(rows, lefts + mixed, left, factors, row, 8, copies, leftBytes, 8, out, stride, 1, false, product);
  teamGemm(rows, keptCount - lefts, right, factors + (<usize>lefts << 3), row, 8, rightCopies, rightBytes, 8, out + leftBytes, stride, 1, false, product);
}
