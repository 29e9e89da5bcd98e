/**
 * Computes the values of a holding on consecutive sessions: see `sumHoldingValue`. Processes four sessions at a
 * time, so that units and columns are read once for all four.
 * @param rows address of the first session's row. @param stride bytes of a row. @param columns int32; 0 for adjacent
 * securities that begin at `rows`. @param out float64, one per session
 */
export function holdingValues(
  rows: usize, stride: usize, sessions: i32, columns: usize, units: usize, count: i32, start: f64, out: usize,
): void {
  let s = 0;
  for (; s + 4 <= sessions; s += 4) {
    if (columns == 0) sumFourRuns(rows, stride, units, count, start, out);
    else sumFourColumns(rows, stride, columns, units, count, start, out);
    rows += stride << 2;
    out += 32;
  }
  for (; s < sessions; s++) {
    store<f64>(out, columns == 0 ? sumRun(rows, units, count, start) : sumColumns(rows, columns, units, count, start));
    rows += stride;
    out += 8;
  }
}

function sumRun(row: usize, units: usize, count: i32, start: f64): f64 {
  let ab = f64x2.replace_lane(f64x2.splat(0), 0, start);
  let cd = f64x2.splat(0);
  let k = 0;
  for (; k + 4 <= count; k += 4) {
    ab = f64x2.add(ab, f64x2.mul(v128.load(units), v128.load(row)));
    cd = f64x2.add(cd, f64x2.mul(v128.load(units, 16), v128.load(row, 16)));
    units += 32;
    row += 32;
  }
  return finishRunSum(ab, cd, row, units, count - k);
}

function sumFourRuns(row: usize, stride: usize, units: usize, count: i32, start: f64, out: usize): void {
  const first = f64x2.replace_lane(f64x2.splat(0), 0, start);
  let row1 = row + stride;
  let row2 = row1 + stride;
  let row3 = row2 + stride;
  let ab0 = first;
  let ab1 = first;
  let ab2 = first;
  let ab3 = first;
  let cd0 = f64x2.splat(0);
  let cd1 = cd0;
  let cd2 = cd0;
  let cd3 = cd0;
  let k = 0;
  for (; k + 4 <= count; k += 4) {
    const pq = v128.load(units);
    const rs = v128.load(units, 16);
    ab0 = f64x2.add(ab0, f64x2.mul(pq, v128.load(row)));
    cd0 = f64x2.add(cd0, f64x2.mul(rs, v128.load(row, 16)));
    ab1 = f64x2.add(ab1, f64x2.mul(pq, v128.load(row1)));
    cd1 = f64x2.add(cd1, f64x2.mul(rs, v128.load(row1, 16)));
    ab2 = f64x2.add(ab2, f64x2.mul(pq, v128.load(row2)));
    cd2 = f64x2.add(cd2, f64x2.mul(rs, v128.load(row2, 16)));
    ab3 = f64x2.add(ab3, f64x2.mul(pq, v128.load(row3)));
    cd3 = f64x2.add(cd3, f64x2.mul(rs, v128.load(row3, 16)));
    units += 32;
    row += 32;
    row1 += 32;
    row2 += 32;
    row3 += 32;
  }
  store<f64>(out, finishRunSum(ab0, cd0, row, units, count - k));
  store<f64>(out, finishRunSum(ab1, cd1, row1, units, count - k), 8);
  store<f64>(out, finishRunSum(ab2, cd2, row2, units, count - k), 16);
  store<f64>(out, finishRunSum(ab3, cd3, row3, units, count - k), 24);
}

/** Adds the four sums of a session; securities after the last group of four are added to the first sum. */
@inline
function finishRunSum(ab: v128, cd: v128, row: usize, units: usize, rest: i32): f64 {
  let a = f64x2.extract_lane(ab, 0);
  for (let k = 0; k < rest; k++) a += load<f64>(units + (<usize>k << 3)) * load<f64>(row + (<usize>k << 3));
  return a + f64x2.extract_lane(ab, 1) + (f64x2.extract_lane(cd, 0) + f64x2.extract_lane(cd, 1));
}

function sumColumns(row: usize, columns: usize, units: usize, count: i32, start: f64): f64 {
  let ab = f64x2.replace_lane(f64x2.splat(0), 0, start);
  let cd = f64x2.splat(0);
  let k = 0;
  for (; k + 4 <= count; k += 4) {
    ab = f64x2.add(ab, f64x2.mul(v128.load(units), loadPair(row, getColumnAddress(columns, 0), getColumnAddress(columns, 4))));
    cd = f64x2.add(cd, f64x2.mul(v128.load(units, 16), loadPair(row, getColumnAddress(columns, 8), getColumnAddress(columns, 12))));
    units += 32;
    columns += 16;
  }
  return finishColumnSum(ab, cd, row, columns, units, count - k);
}

function sumFourColumns(row: usize, stride: usize, columns: usize, units: usize, count: i32, start: f64, out: usize): void {
  const first = f64x2.replace_lane(f64x2.splat(0), 0, start);
  const row1 = row + stride;
  const row2 = row1 + stride;
  const row3 = row2 + stride;
  let ab0 = first;
  let ab1 = first;
  let ab2 = first;
  let ab3 = first;
  let cd0 = f64x2.splat(0);
  let cd1 = cd0;
  let cd2 = cd0;
  let cd3 = cd0;
  let k = 0;
  for (; k + 4 <= count; k += 4) {
    const p = getColumnAddress(columns, 0);
    const q = getColumnAddress(columns, 4);
    const pq = v128.load(units);
    ab0 = f64x2.add(ab0, f64x2.mul(pq, loadPair(row, p, q)));
    ab1 = f64x2.add(ab1, f64x2.mul(pq, loadPair(row1, p, q)));
    ab2 = f64x2.add(ab2, f64x2.mul(pq, loadPair(row2, p, q)));
    ab3 = f64x2.add(ab3, f64x2.mul(pq, loadPair(row3, p, q)));
    const r = getColumnAddress(columns, 8);
    const s = getColumnAddress(columns, 12);
    const rs = v128.load(units, 16);
    cd0 = f64x2.add(cd0, f64x2.mul(rs, loadPair(row, r, s)));
    cd1 = f64x2.add(cd1, f64x2.mul(rs, loadPair(row1, r, s)));
    cd2 = f64x2.add(cd2, f64x2.mul(rs, loadPair(row2, r, s)));
    cd3 = f64x2.add(cd3, f64x2.mul(rs, loadPair(row3, r, s)));
    units += 32;
    columns += 16;
  }
  store<f64>(out, finishColumnSum(ab0, cd0, row, columns, units, count - k));
  store<f64>(out, finishColumnSum(ab1, cd1, row1, columns, units, count - k), 8);
  store<f64>(out, finishColumnSum(ab2, cd2, row2, columns, units, count - k), 16);
  store<f64>(out, finishColumnSum(ab3, cd3, row3, columns, units, count - k), 24);
}

@inline
function finishColumnSum(ab: v128, cd: v128, row: usize, columns: usize, units: usize, rest: i32): f64 {
  let a = f64x2.extract_lane(ab, 0);
  for (let k = 0; k < rest; k++)
    a += load<f64>(units + (<usize>k << 3)) * load<f64>(row + getColumnAddress(columns + (<usize>k << 2), 0));
  return a + f64x2.extract_lane(ab, 1) + (f64x2.extract_lane(cd, 0) + f64x2.extract_lane(cd, 1));
}

/**
 * Computes the weights of a holding in one session: see `writeHoldingWeights`.
 * @param row address of the session's row. @param columns int32; 0 for adjacent securities that begin at `row` and whose
 * weights begin at `out`. @param slots int32: positions of the weights in `out`. @param value value of the holding
 */
export function holdingWeights(
  row: usize, columns: usize, slots: usize, units: usize, count: i32, value: f64, out: usize,
): void {
  if (columns == 0) weighRun(row, units, count, value, out);
  else weighColumns(row, columns, slots, units, count, value, out);
}

function weighRun(row: usize, units: usize, count: i32, value: f64, out: usize): void {
  const values = f64x2.splat(value);
  let k = 0;
  for (; k + 4 <= count; k += 4) {
    v128.store(out, f64x2.div(f64x2.mul(v128.load(units), v128.load(row)), values));
    v128.store(out, f64x2.div(f64x2.mul(v128.load(units, 16), v128.load(row, 16)), values), 16);
    units += 32;
    row += 32;
    out += 32;
  }
  for (; k < count; k++) {
    store<f64>(out, (load<f64>(units) * load<f64>(row)) / value);
    units += 8;
    row += 8;
    out += 8;
  }
}

function weighColumns(
  row: usize, columns: usize, slots: usize, units: usize, count: i32, value: f64, out: usize,
): void {
  const values = f64x2.splat(value);
  let k = 0;
  for (; k + 2 <= count; k += 2) {
    const prices = loadPair(row, getColumnAddress(columns, 0), getColumnAddress(columns, 4));
    const weights = f64x2.div(f64x2.mul(v128.load(units), prices), values);
    store<f64>(out + getColumnAddress(slots, 0), f64x2.extract_lane(weights, 0));
    store<f64>(out + getColumnAddress(slots, 4), f64x2.extract_lane(weights, 1));
    units += 16;
    columns += 8;
    slots += 8;
  }
  if (k < count)
    store<f64>(out + getColumnAddress(slots, 0), (load<f64>(units) * load<f64>(row + getColumnAddress(columns, 0))) / value);
}

/** Returns the byte offset of a security from the beginning of a row. */
@inline
function getColumnAddress(columns: usize, offset: usize): usize {
  return <usize>load<i32>(columns + offset) << 3;
}

@inline
function loadPair(row: usize, first: usize, second: usize): v128 {
  return f64x2.replace_lane(v128.load64_zero(row + first), 1, load<f64>(row + second));
}
