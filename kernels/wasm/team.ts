import { gemm } from './gemm';
import { PANEL_SKEW } from './panel-skew';
import {
  addSlabGroup, GROUP_SCRATCH, packSlab, countSlabGroups, countSlabs, symmetricRankKScratch, wholeSymmetricRankK,
} from './symmetric-rank-k';
import { symvRows } from './vectors';

// Team of threads that share one memory and one problem. The leader runs the algorithm and divides large products into
// parts. The number of parts does not depend on the number of threads. The followers process parts as long as there are
// any. The leader processes parts too, and waits only for parts that others have started, so that a follower that is
// not scheduled does not delay the others. The constants below are offsets in a board in shared memory. The ticket
// combines the turn and the index of the next part in one word. A thread takes a part by changing both or neither, so
// it never takes a part of one turn with the task of another.
const TICKET: usize = 0; // turn << TURN_BITS | next part
const SLEEPERS: usize = 4;
const DONE: usize = 64; // on a separate cache line: every thread counts here
const AT_WORK: usize = 128; // Number of followers that are still running.
const WORK: usize = 132;
const PARTS: usize = 136;
const SYMV_N: usize = 140;
const UPPER: usize = 144;
const SIGN: usize = 152;
const WORDS: usize = 160; // a, ld, x, sums of SYMV; m, k, n, a, aRow, aInner, b, bInner, bColumn, c, ldc of GEMM; x, rows, columns, c, slab, packed, next of RANK_K: one int32 each
const BOARD_BYTES: usize = 256;

const TURN_BITS: i32 = 8;
const PART_MASK: i32 = 255;

const GEMM: i32 = 1;
const SYMV: i32 = 2;
const END_WORK: i32 = 3;
const RANK_K: i32 = 4;

/**
 * Number of times that a thread checks the board before it sleeps. The checks take tens of microseconds, the time that
 * the leader works alone between two products.
 */
const LOOKS_MAX: i32 = 20_000;

/**
 * Number of checks of a thread that has a share of X'X, which has few turns. The checks take about a millisecond. The
 * system may wake a follower on the processor of its leader, and separates them only while both are running. A thread
 * that sleeps between two slabs would stay there and leave another processor idle.
 */
const RANK_K_LOOKS: i32 = 1_000_000;

/**
 * Number of parts of a symmetric product, each with separate sums. It is fixed, so that results do not depend on the
 * number of threads.
 */
const SYMV_PARTS: i32 = 8;

/** Minimum order of a symmetric product that is summed in parts. */
const SYMV_PARTED: i32 = 512;

/**
 * Number of parts of a matrix product. It is twice the maximum number of threads, so that other threads can process the
 * parts of a late thread.
 */
const GEMM_PARTS: i32 = 8;

/** Minimum number of multiply-adds of a product that is divided. */
const PARALLEL_WORK_MIN: i64 = 1 << 20;

let board: usize = 0;
let leads: bool = false;

export function teamBoardBytes(): usize {
  return BOARD_BYTES;
}

/** Makes this thread lead a number of followers over a zeroed board, until `endTeam`. */
export function leadTeam(boardAddress: usize, followers: i32): void {
  board = boardAddress;
  leads = true;
  atomic.store<i32>(board + AT_WORK, followers);
}

/** Dismisses the followers. None of them accesses the memory afterwards. */
export function endTeam(): void {
  post(END_WORK, 0);
  while (true) {
    const left = atomic.load<i32>(board + AT_WORK);
    if (left == 0) break;
    atomic.wait<i32>(board + AT_WORK, left, -1);
  }
  leads = false;
}

/** Processes parts until the team is dismissed. `scratch` has the size returned by `gemmScratch`. */
export function followTeam(boardAddress: usize, scratch: usize): void {
  board = boardAddress;
  let seen = 0; // ticket of a zeroed board
  let looks = RANK_K_LOOKS; // the leader of X'X packs a slab first
  while (true) {
    seen = awaitTicket(seen, looks);
    const work = load<i32>(board + WORK);
    if (work == END_WORK) break;
    looks = countLooks(work);
    while (takePart(scratch)) {}
  }
  if (atomic.sub<i32>(board + AT_WORK, 1) == 1) atomic.notify(board + AT_WORK, 1);
}

function countLooks(work: i32): i32 {
  return work == RANK_K ? RANK_K_LOOKS : LOOKS_MAX;
}

/** Waits until the ticket changes and returns it. */
function awaitTicket(seen: i32, looks: i32): i32 {
  for (let look = 0; look < looks; look++) {
    const ticket = atomic.load<i32>(board + TICKET);
    if (ticket != seen) return ticket;
  }
  atomic.add<i32>(board + SLEEPERS, 1);
  atomic.wait<i32>(board + TICKET, seen, -1);
  atomic.sub<i32>(board + SLEEPERS, 1);
  return atomic.load<i32>(board + TICKET);
}

/** Performs the next part of the shared task. Returns true if there was one. */
function takePart(scratch: usize): bool {
  const ticket = atomic.load<i32>(board + TICKET);
  const parts = load<i32>(board + PARTS);
  const part = ticket & PART_MASK;
  if (part >= parts) return false;
  // Another thread took the part: try again.
  if (atomic.cmpxchg<i32>(board + TICKET, ticket, ticket + 1) != ticket) return true;
  const work = load<i32>(board + WORK);
  if (work == GEMM) multiplyPart(part, scratch);
  else if (work == RANK_K) rankKPart(part, scratch);
  else multiplySymvPart(<usize>readWord(0), load<i32>(board + SYMV_N), <usize>readWord(1), <usize>readWord(2), <usize>readWord(3), part);
  if (atomic.add<i32>(board + DONE, 1) == load<i32>(board + PARTS) - 1) atomic.notify(board + DONE, 1);
  return true;
}

/**
 * Starts a new turn. The words of the task are written first, because a thread reads them only after it has taken a
 * part.
 */
function post(work: i32, parts: i32): void {
  const turn = (load<i32>(board + TICKET) >> TURN_BITS) + 1;
  // First sets a ticket without parts. A thread that still holds a ticket of the last turn must not match the new one.
  atomic.store<i32>(board + TICKET, turn << TURN_BITS | PART_MASK);
  store<i32>(board + WORK, work);
  store<i32>(board + PARTS, parts);
  atomic.store<i32>(board + DONE, 0);
  atomic.store<i32>(board + TICKET, turn << TURN_BITS);
  if (atomic.load<i32>(board + SLEEPERS) > 0) atomic.notify(board + TICKET, -1);
}

/** Processes parts until none is left, then waits for the parts that other threads have started. */
function finish(parts: i32, scratch: usize): void {
  while (takePart(scratch)) {}
  const looks = countLooks(load<i32>(board + WORK));
  for (let look = 0; look < looks && atomic.load<i32>(board + DONE) < parts; look++) {}
  while (true) {
    const done = atomic.load<i32>(board + DONE);
    if (done == parts) return;
    atomic.wait<i32>(board + DONE, done, -1);
  }
}

// @ts-ignore: decorator
@inline
function readWord(k: usize): i32 {
  return load<i32>(board + WORDS + (k << 2));
}

// @ts-ignore: decorator
@inline
function setWord(k: usize, value: i32): void {
  store<i32>(board + WORDS + (k << 2), value);
}

/** Computes `gemm` with its rows divided among threads. Each entry is summed by one thread in unchanged order. */
export function teamGemm(
  m: i32, k: i32, n: i32,
  a: usize, aRow: usize, aInner: usize,
  b: usize, bInner: usize, bColumn: usize,
  c: usize, ldc: usize, sign: f64, upper: bool, scratch: usize,
): void {
  if (!leads || <i64>m * n * k < PARALLEL_WORK_MIN) return gemm(m, k, n, a, aRow, aInner, b, bInner, bColumn, c, ldc, sign, upper, scratch);
  setWord(0, m);
  setWord(1, k);
  setWord(2, n);
  setWord(3, <i32>a);
  setWord(4, <i32>aRow);
  setWord(5, <i32>aInner);
  setWord(6, <i32>b);
  setWord(7, <i32>bInner);
  setWord(8, <i32>bColumn);
  setWord(9, <i32>c);
  setWord(10, <i32>ldc);
  store<f64>(board + SIGN, sign);
  store<i32>(board + UPPER, upper ? 1 : 0);
  post(GEMM, GEMM_PARTS);
  finish(GEMM_PARTS, scratch);
}

function multiplyPart(part: i32, scratch: usize): void {
  const m = readWord(0);
  const upper = load<i32>(board + UPPER) != 0;
  const first = upper ? cutByArea(m, part, GEMM_PARTS) : cutEvenly(m, part, GEMM_PARTS);
  const last = upper ? cutByArea(m, part + 1, GEMM_PARTS) : cutEvenly(m, part + 1, GEMM_PARTS);
  if (last <= first) return;
  const skip = upper ? first : 0; // number of columns left of the diagonal of the first row
  const bColumn = <usize>readWord(8);
  const ldc = <usize>readWord(10);
  gemm(
    last - first, readWord(1), readWord(2) - skip,
    <usize>readWord(3) + <usize>first * <usize>readWord(4), <usize>readWord(4), <usize>readWord(5),
    <usize>readWord(6) + <usize>skip * bColumn, <usize>readWord(7), bColumn,
    <usize>readWord(9) + <usize>first * ldc + (<usize>skip << 3), ldc, load<f64>(board + SIGN), upper, scratch,
  );
}

/** Returns the scratch size of X'X: the scratch of a group for the leading thread, and the panels of two slabs. */
export function teamSymmetricRankKScratch(rows: i32, columns: i32): usize {
  return leads ? GROUP_SCRATCH + 2 * computePanelsBytes(rows, columns) : symmetricRankKScratch(rows, columns);
}

/** Returns the size of the panels of a slab in whole cache lines. */
function computePanelsBytes(rows: i32, columns: i32): usize {
  return (symmetricRankKScratch(rows, columns) + 63) & ~63;
}

/**
 * Computes all of `symmetricRankK`. Threads share the groups of tile rows of a slab while one thread packs the next
 * slab.
 */
export function teamSymmetricRankK(x: usize, rows: i32, columns: i32, c: usize, scratch: usize): void {
  const groups = countSlabGroups(columns);
  if (!leads || groups >= PART_MASK || <i64>rows * columns * columns < PARALLEL_WORK_MIN)
    return wholeSymmetricRankK(x, rows, columns, c, scratch);
  const slabs = countSlabs(rows);
  let packed = scratch + GROUP_SCRATCH + PANEL_SKEW;
  let next = packed + computePanelsBytes(rows, columns);
  packSlab(x, rows, columns, 0, packed);
  for (let slab = 0; slab < slabs; slab++) {
    setWord(0, <i32>x);
    setWord(1, rows);
    setWord(2, columns);
    setWord(3, <i32>c);
    setWord(4, slab);
    setWord(5, <i32>packed);
    setWord(6, <i32>next);
    post(RANK_K, groups + 1);
    finish(groups + 1, scratch);
    const free = packed;
    packed = next;
    next = free;
  }
}

/** Processes one part. The first part packs the next slab; each other part adds a group of the current slab. */
function rankKPart(part: i32, scratch: usize): void {
  const rows = readWord(1);
  const columns = readWord(2);
  const slab = readWord(4);
  if (part > 0) addSlabGroup(rows, columns, <usize>readWord(3), slab, part - 1, <usize>readWord(5), scratch);
  else if (slab + 1 < countSlabs(rows)) packSlab(<usize>readWord(0), rows, columns, slab + 1, <usize>readWord(6));
}

/** Returns the number of bytes for the sums of a divided symmetric product. */
export function teamSymvScratch(n: i32): usize {
  return <usize>SYMV_PARTS * (<usize>n << 3);
}

/**
 * Computes out += A x like `symv`. From a minimum order on, divides the product into parts of equal area, and then adds
 * the sums of the parts in a fixed order.
 */
export function teamSymv(a: usize, n: i32, ld: usize, x: usize, out: usize, sums: usize): void {
  if (n < SYMV_PARTED) return symvRows(a, n, ld, x, out, 0, n);
  if (!leads) for (let part = 0; part < SYMV_PARTS; part++) multiplySymvPart(a, n, ld, x, sums, part);
  else {
    store<i32>(board + SYMV_N, n);
    setWord(0, <i32>a);
    setWord(1, <i32>ld);
    setWord(2, <i32>x);
    setWord(3, <i32>sums);
    post(SYMV, SYMV_PARTS);
    finish(SYMV_PARTS, 0);
  }
  for (let part = 0; part < SYMV_PARTS; part++) {
    const first = cutByArea(n, part, SYMV_PARTS);
    add(sums + <usize>part * (<usize>n << 3) + (<usize>first << 3), out + (<usize>first << 3), n - first);
  }
}

function multiplySymvPart(a: usize, n: i32, ld: usize, x: usize, sums: usize, part: i32): void {
  const first = cutByArea(n, part, SYMV_PARTS);
  const partSums = sums + <usize>part * (<usize>n << 3);
  memory.fill(partSums + (<usize>first << 3), 0, <usize>(n - first) << 3);
  symvRows(a, n, ld, x, partSums, first, cutByArea(n, part + 1, SYMV_PARTS));
}

function add(x: usize, y: usize, n: i32): void {
  let i = 0;
  for (; i + 2 <= n; i += 2) {
    v128.store(y, f64x2.add(v128.load(y), v128.load(x)));
    x += 16;
    y += 16;
  }
  if (i < n) store<f64>(y, load<f64>(y) + load<f64>(x));
}

/** Returns the first row of part k of `parts` of an upper triangle, divided into equal areas of whole tiles. */
function cutByArea(n: i32, k: i32, parts: i32): i32 {
  if (k == parts) return n;
  return <i32>(<f64>n * (1 - sqrt(1 - <f64>k / <f64>parts))) & ~3;
}

function cutEvenly(n: i32, k: i32, parts: i32): i32 {
  return k == parts ? n : (n * k) / parts & ~3;
}
