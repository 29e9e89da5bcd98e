import { gemmScratch } from './gemm';

// Indices of the vectors of length n that a merge uses, consecutive in the scratch memory.
export const Z: i32 = 0;
export const POLES: i32 = 1;
export const SQUARES: i32 = 2;
export const LOEWNER: i32 = 3;
export const ROW: i32 = 4;
export const VALUES: i32 = 5;
export const INTEGERS: i32 = 6; // ORDER, SORTED, KIND, SOURCE, POSITION, DEFLATED: n int32 each
export const VECTORS: i32 = 9;

export function mergeScratch(n: i32): usize {
  return <usize>VECTORS * (<usize>n << 3) + 2 * (<usize>n * <usize>n << 3) + gemmScratch();
}

// Matrix of the current call.
export let order: i32 = 0;
/** Number of the largest eigenpairs whose vectors are computed. */
export let requestedCount: i32 = 0;
export let diagonal: usize = 0;
export let offDiagonal: usize = 0;
export let rowsAddress: usize = 0;
export let stride: usize = 0;
export let vectors: usize = 0;
export let copies: usize = 0;
export let mixing: usize = 0;
export let product: usize = 0;

/** Assigns the memory of a call in `scratch`. */
export function openMergeMemory(d: usize, e: usize, n: i32, count: i32, q: usize, scratch: usize): void {
  order = n;
  requestedCount = count;
  diagonal = d;
  offDiagonal = e;
  rowsAddress = q;
  stride = <usize>n << 3;
  vectors = scratch;
  copies = scratch + <usize>VECTORS * stride;
  mixing = copies + <usize>n * stride;
  product = mixing + <usize>n * stride;
}

// @ts-ignore: decorator
@inline
export function vector(k: i32): usize {
  return vectors + <usize>k * stride;
}

/** Returns the address of integer list k of a merge, indexed from the start of the whole matrix. */
// @ts-ignore: decorator
@inline
export function getList(k: i32): usize {
  return vectors + <usize>INTEGERS * stride + <usize>k * (<usize>order << 2);
}
export const ORDER: i32 = 0;
export const SORTED: i32 = 1;
export const KIND: i32 = 2;
export const SOURCE: i32 = 3;
export const POSITION: i32 = 4;
export const DEFLATED: i32 = 5;

// @ts-ignore: decorator
@inline
export function readInteger(p: usize, i: i32): i32 {
  return load<i32>(p + (<usize>i << 2));
}

// @ts-ignore: decorator
@inline
export function setInt(p: usize, i: i32, value: i32): void {
  store<i32>(p + (<usize>i << 2), value);
}

// @ts-ignore: decorator
@inline
export function readReal(p: usize, i: i32): f64 {
  return load<f64>(p + (<usize>i << 3));
}

// @ts-ignore: decorator
@inline
export function setReal(p: usize, i: i32, value: f64): void {
  store<f64>(p + (<usize>i << 3), value);
}

/** Inserts an index into a list sorted ascending by value. */
export function insert(sorted: usize, count: i32, index: i32, values: usize): void {
  const value = readReal(values, index);
  let position = count;
  while (position > 0 && readReal(values, readInteger(sorted, position - 1)) > value) {
    setInt(sorted, position, readInteger(sorted, position - 1));
    position--;
  }
  setInt(sorted, position, index);
}
