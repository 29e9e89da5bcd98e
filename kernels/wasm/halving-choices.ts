// State shared by all divisions of one call, and the address of the next results.
let blocks: i32 = 0;
let size: i32 = 0;
let variants: i32 = 0;
let row: usize = 0;
let firsts: usize = 0;
let seconds: usize = 0;
let average: usize = 0;
let halfCount: f64 = 0;
let bestRank: f64 = 0;
let firstHalf: usize = 0;
let secondHalf: usize = 0;
let firstRatios: usize = 0;
let secondRatios: usize = 0;
let next: usize = 0;

/**
 * Returns the size of the scratch memory. It contains the sums of either half by the number of its blocks (none to half
 * of all), with first and second moments side by side, and two rows of ratios.
 */
export function halvingChoicesScratch(n: i32, count: i32): usize {
  return (<usize>n << 3) * <usize>(4 * (count / 2 + 1) + 2);
}

/** See `sums/halving-choices`. */
export function halvingChoices(
  first: usize,
  second: usize,
  means: usize,
  n: i32,
  count: i32,
  half: f64,
  varianceMin: f64,
  out: usize,
  scratch: usize,
): void {
  blocks = count;
  size = count / 2;
  variants = n;
  row = <usize>n << 3;
  firsts = first;
  seconds = second;
  average = means;
  halfCount = half;
  bestRank = varianceMin;
  firstHalf = scratch;
  secondHalf = firstHalf + 2 * row * <usize>(size + 1);
  firstRatios = secondHalf + 2 * row * <usize>(size + 1);
  secondRatios = firstRatios + row;
  next = out;
  memory.fill(firstHalf, 0, 2 * row);
  memory.fill(secondHalf, 0, 2 * row);
  placeBlock(0, 0, 0);
}

function placeBlock(block: i32, inOne: i32, inOther: i32): void {
  if (block == blocks) {
    const step = 2 * row * <usize>size;
    computeRatios(firstHalf + step, firstRatios);
    computeRatios(secondHalf + step, secondRatios);
    choose(firstRatios, secondRatios);
    choose(secondRatios, firstRatios);
    return;
  }
  if (inOne < size) {
    add(block, firstHalf + 2 * row * <usize>inOne);
    placeBlock(block + 1, inOne + 1, inOther);
  }
  if (block > 0 && inOther < size) {
    add(block, secondHalf + 2 * row * <usize>inOther);
    placeBlock(block + 1, inOne, inOther + 1);
  }
}

/** Computes the sums with one more block. Stores them after the sums without it. */
function add(block: i32, to: usize): void {
  const from = row * <usize>block;
  addRow(firsts + from, to, to + 2 * row);
  addRow(seconds + from, to + row, to + 3 * row);
}

function addRow(terms: usize, to: usize, into: usize): void {
  let i = 0;
  for (; i + 2 <= variants; i += 2) {
    v128.store(into, f64x2.add(v128.load(to), v128.load(terms)));
    terms += 16;
    to += 16;
    into += 16;
  }
  if (i < variants) store<f64>(into, load<f64>(to) + load<f64>(terms));
}

/** Computes Sharpe ratios from the sums of a half. */
function computeRatios(sums: usize, into: usize): void {
  const half = f64x2.splat(halfCount);
  const degrees = f64x2.splat(halfCount - 1);
  const limit = f64x2.splat(bestRank);
  let means = average;
  let i = 0;
  for (; i + 2 <= variants; i += 2) {
    const sum = v128.load(sums);
    const squares = f64x2.sub(v128.load(sums + row), f64x2.div(f64x2.mul(sum, sum), half));
    const variance = f64x2.div(squares, degrees);
    const ratio = f64x2.div(f64x2.add(v128.load(means), f64x2.div(sum, half)), f64x2.sqrt(variance));
    v128.store(into, v128.and(f64x2.gt(variance, limit), ratio));
    sums += 16;
    means += 16;
    into += 16;
  }
  if (i == variants) return;
  const sum = load<f64>(sums);
  const variance = (load<f64>(sums + row) - (sum * sum) / halfCount) / (halfCount - 1);
  store<f64>(into, variance > bestRank ? (load<f64>(means) + sum / halfCount) / sqrt(variance) : 0);
}

/** Chooses on one half and computes the rank and ratio of the choice on the other half. */
function choose(inside: usize, outside: usize): void {
  const value = load<f64>(outside + (<usize>best(inside) << 3));
  store<f64>(next, computeRank(outside, value));
  store<f64>(next + 8, value);
  next += 16;
}

function best(values: usize): i32 {
  let position = 0;
  let most = load<f64>(values);
  for (let i = 1; i < variants; i++) {
    values += 8;
    const value = load<f64>(values);
    if (value > most) {
      most = value;
      position = i;
    }
  }
  return position;
}

function computeRank(values: usize, value: f64): f64 {
  const value2 = f64x2.splat(value);
  // A true comparison is -1.
  let lower = i64x2.splat(0);
  let alike = i64x2.splat(0);
  let i = 0;
  for (; i + 2 <= variants; i += 2) {
    const values2 = v128.load(values);
    lower = i64x2.sub(lower, f64x2.lt(values2, value2));
    alike = i64x2.sub(alike, f64x2.eq(values2, value2));
    values += 16;
  }
  let below = i64x2.extract_lane(lower, 0) + i64x2.extract_lane(lower, 1);
  let equal = i64x2.extract_lane(alike, 0) + i64x2.extract_lane(alike, 1);
  if (i < variants) {
    const last = load<f64>(values);
    if (last < value) below++;
    else if (last == value) equal++;
  }
  return <f64>below + <f64>(equal + 1) / 2;
}
