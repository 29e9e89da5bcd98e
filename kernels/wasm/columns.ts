// Passes over selected columns of a row-major panel.

/**
 * Number of rows that are processed together. Their additions to a group are independent of each other, and sums of
 * columns are read once for all of them.
 */
const BAND: i32 = 4;

/** Computes out := columns of x, less a constant. See `algebra/select-columns`. `columns` are int32 indices. */
export function selectColumns(x: usize, rows: i32, width: i32, columns: usize, count: i32, less: f64, out: usize): void {
  const row = <usize>width << 3;
  for (let t = 0; t < rows; t++) {
    let position = columns;
    let k = 0;
    for (; k + 4 <= count; k += 4) {
      store<f64>(out, load<f64>(x + (<usize>load<i32>(position) << 3)) - less);
      store<f64>(out, load<f64>(x + (<usize>load<i32>(position, 4) << 3)) - less, 8);
      store<f64>(out, load<f64>(x + (<usize>load<i32>(position, 8) << 3)) - less, 16);
      store<f64>(out, load<f64>(x + (<usize>load<i32>(position, 12) << 3)) - less, 24);
      position += 16;
      out += 32;
    }
    for (; k < count; k++) {
      store<f64>(out, load<f64>(x + (<usize>load<i32>(position) << 3)) - less);
      position += 4;
      out += 8;
    }
    x += row;
  }
}

/**
 * Computes the means of groups of columns, row by row, and subtracts them from x: see `algebra/centre-groups`. `order`
 * are the int32 byte offsets of the columns, ordered by group and ascending within each group; `sizes` are the int32
 * numbers of columns per group.
 */
export function centreGroups(x: usize, rows: i32, columns: i32, order: usize, sizes: usize, count: i32, means: usize): void {
  const row = <usize>columns << 3;
  const mean = <usize>count << 3;
  let t = 0;
  for (; t + BAND <= rows; t += BAND) {
    let first = order;
    for (let g = 0; g < count; g++) {
      const size = load<i32>(sizes + (<usize>g << 2));
      const end = first + (<usize>size << 2);
      let s0: f64 = 0;
      let s1: f64 = 0;
      let s2: f64 = 0;
      let s3: f64 = 0;
      for (let at = first; at < end; at += 4) {
        const cell = x + <usize>load<i32>(at);
        s0 += load<f64>(cell);
        s1 += load<f64>(cell + row);
        s2 += load<f64>(cell + 2 * row);
        s3 += load<f64>(cell + 3 * row);
      }
      const n = <f64>size;
      s0 /= n;
      s1 /= n;
      s2 /= n;
      s3 /= n;
      const to = means + (<usize>g << 3);
      store<f64>(to, s0);
      store<f64>(to + mean, s1);
      store<f64>(to + 2 * mean, s2);
      store<f64>(to + 3 * mean, s3);
      for (let at = first; at < end; at += 4) {
        const cell = x + <usize>load<i32>(at);
        store<f64>(cell, load<f64>(cell) - s0);
        store<f64>(cell + row, load<f64>(cell + row) - s1);
        store<f64>(cell + 2 * row, load<f64>(cell + 2 * row) - s2);
        store<f64>(cell + 3 * row, load<f64>(cell + 3 * row) - s3);
      }
      first = end;
    }
    x += BAND * row;
    means += BAND * mean;
  }
  for (; t < rows; t++) {
    let first = order;
    for (let g = 0; g < count; g++) {
      const size = load<i32>(sizes + (<usize>g << 2));
      const end = first + (<usize>size << 2);
      let sum: f64 = 0;
      for (let at = first; at < end; at += 4) sum += load<f64>(x + <usize>load<i32>(at));
      sum /= <f64>size;
      store<f64>(means + (<usize>g << 3), sum);
      for (let at = first; at < end; at += 4) {
        const cell = x + <usize>load<i32>(at);
        store<f64>(cell, load<f64>(cell) - sum);
      }
      first = end;
    }
    x += row;
    means += mean;
  }
}

/**
 * Computes out := sums of the squares of the columns of a [rows x columns] panel less the means. Every column is summed
 * from first to last row.
 */
export function columnSquaresAbout(x: usize, rows: i32, columns: i32, means: usize, out: usize): void {
  memory.fill(out, 0, <usize>columns << 3);
  for (let t = 0; t < rows; t++) {
    let entry = out;
    let mean = means;
    let j = 0;
    for (; j + 2 <= columns; j += 2) {
      const value = f64x2.sub(v128.load(x), v128.load(mean));
      v128.store(entry, f64x2.add(v128.load(entry), f64x2.mul(value, value)));
      entry += 16;
      mean += 16;
      x += 16;
    }
    if (j < columns) {
      const value = load<f64>(x) - load<f64>(mean);
      store<f64>(entry, load<f64>(entry) + value * value);
      x += 8;
    }
  }
}

/**
 * Computes out := sums of the columns of a [rows x columns] panel. If weights are given, row t is multiplied by weight
 * t. Every column is summed from first to last row.
 */
export function columnSums(x: usize, rows: i32, columns: i32, weights: usize, out: usize): void {
  const row = <usize>columns << 3;
  const even = row & ~15;
  memory.fill(out, 0, row);
  let t = 0;
  for (; t + BAND <= rows; t += BAND) {
    const w0 = readWeight(weights, t);
    const w1 = readWeight(weights, t + 1);
    const w2 = readWeight(weights, t + 2);
    const w3 = readWeight(weights, t + 3);
    for (let j: usize = 0; j < even; j += 16) {
      const entry = x + j;
      let sum = f64x2.add(v128.load(out + j), f64x2.mul(w0, v128.load(entry)));
      sum = f64x2.add(sum, f64x2.mul(w1, v128.load(entry + row)));
      sum = f64x2.add(sum, f64x2.mul(w2, v128.load(entry + 2 * row)));
      v128.store(out + j, f64x2.add(sum, f64x2.mul(w3, v128.load(entry + 3 * row))));
    }
    if (even < row) for (let k = 0; k < BAND; k++) addLastColumn(readWeight(weights, t + k), x + <usize>k * row + even, out + even);
    x += BAND * row;
  }
  for (; t < rows; t++) {
    const w = readWeight(weights, t);
    for (let j: usize = 0; j < even; j += 16) v128.store(out + j, f64x2.add(v128.load(out + j), f64x2.mul(w, v128.load(x + j))));
    if (even < row) addLastColumn(w, x + even, out + even);
    x += row;
  }
}

// @ts-ignore: decorator
@inline
function readWeight(weights: usize, t: i32): v128 {
  return weights === 0 ? f64x2.splat(1) : v128.load_splat<f64>(weights + (<usize>t << 3));
}

// @ts-ignore: decorator
@inline
function addLastColumn(weight: v128, x: usize, out: usize): void {
  store<f64>(out, load<f64>(out) + f64x2.extract_lane(weight, 0) * load<f64>(x));
}

/**
 * Subtracts the means from the rows of a [rows x columns] panel and multiplies row t by the square root of its factor,
 * in place; computes `squares` := sums of the squares of the resulting columns, from first to last row.
 */
export function centreRows(x: usize, rows: i32, columns: i32, means: usize, factors: usize, squares: usize): void {
  const row = <usize>columns << 3;
  memory.fill(squares, 0, row);
  let t = 0;
  for (; t + BAND <= rows; t += BAND) {
    centreBand(x, row, means, factors + (<usize>t << 3), squares);
    x += BAND * row;
  }
  for (; t < rows; t++) {
    const scale = sqrt(load<f64>(factors + (<usize>t << 3)));
    for (let j: usize = 0; j < row; j += 8) centreCell(scale, x + j, means + j, squares + j);
    x += row;
  }
}

function centreBand(x: usize, row: usize, means: usize, factors: usize, squares: usize): void {
  const even = row & ~15;
  const roots = f64x2.sqrt(v128.load(factors));
  const later = f64x2.sqrt(v128.load(factors, 16));
  const s0 = v128.shuffle<f64>(roots, roots, 0, 0);
  const s1 = v128.shuffle<f64>(roots, roots, 1, 1);
  const s2 = v128.shuffle<f64>(later, later, 0, 0);
  const s3 = v128.shuffle<f64>(later, later, 1, 1);
  for (let j: usize = 0; j < even; j += 16) {
    const entry = x + j;
    const mean = v128.load(means + j);
    const a = f64x2.mul(s0, f64x2.sub(v128.load(entry), mean));
    const b = f64x2.mul(s1, f64x2.sub(v128.load(entry + row), mean));
    const c = f64x2.mul(s2, f64x2.sub(v128.load(entry + 2 * row), mean));
    const d = f64x2.mul(s3, f64x2.sub(v128.load(entry + 3 * row), mean));
    v128.store(entry, a);
    v128.store(entry + row, b);
    v128.store(entry + 2 * row, c);
    v128.store(entry + 3 * row, d);
    let sum = f64x2.add(v128.load(squares + j), f64x2.mul(a, a));
    sum = f64x2.add(sum, f64x2.mul(b, b));
    sum = f64x2.add(sum, f64x2.mul(c, c));
    v128.store(squares + j, f64x2.add(sum, f64x2.mul(d, d)));
  }
  if (even === row) return;
  for (let k = 0; k < BAND; k++) {
    centreCell(sqrt(load<f64>(factors + (<usize>k << 3))), x + <usize>k * row + even, means + even, squares + even);
  }
}

// @ts-ignore: decorator
@inline
function centreCell(scale: f64, cell: usize, mean: usize, squares: usize): void {
  const value = scale * (load<f64>(cell) - load<f64>(mean));
  store<f64>(cell, value);
  store<f64>(squares, load<f64>(squares) + value * value);
}

/**
 * Returns the sum of the squares of the weighted row sums of a [rows x columns] panel: see `algebra/squared-row-sums`.
 */
export function squaredRowSums(x: usize, rows: i32, columns: i32, weights: usize): f64 {
  const row = <usize>columns << 3;
  const even = row & ~15;
  let total: f64 = 0;
  let t = 0;
  for (; t + BAND <= rows; t += BAND) {
    let upper = f64x2.splat(0); // Sums of the first two rows.
    let lower = f64x2.splat(0);
    for (let j: usize = 0; j < even; j += 16) {
      const entry = x + j;
      const a = v128.load(entry);
      const b = v128.load(entry + row);
      const c = v128.load(entry + 2 * row);
      const d = v128.load(entry + 3 * row);
      const first = v128.load_splat<f64>(weights + j);
      const second = v128.load_splat<f64>(weights + j, 8);
      upper = f64x2.add(upper, f64x2.mul(v128.shuffle<f64>(a, b, 0, 2), first));
      lower = f64x2.add(lower, f64x2.mul(v128.shuffle<f64>(c, d, 0, 2), first));
      upper = f64x2.add(upper, f64x2.mul(v128.shuffle<f64>(a, b, 1, 3), second));
      lower = f64x2.add(lower, f64x2.mul(v128.shuffle<f64>(c, d, 1, 3), second));
    }
    if (even < row) {
      const entry = x + even;
      const last = v128.load_splat<f64>(weights + even);
      upper = f64x2.add(upper, f64x2.mul(f64x2.replace_lane(v128.load_splat<f64>(entry), 1, load<f64>(entry + row)), last));
      lower = f64x2.add(lower, f64x2.mul(f64x2.replace_lane(v128.load_splat<f64>(entry + 2 * row), 1, load<f64>(entry + 3 * row)), last));
    }
    upper = f64x2.mul(upper, upper);
    lower = f64x2.mul(lower, lower);
    total += f64x2.extract_lane(upper, 0);
    total += f64x2.extract_lane(upper, 1);
    total += f64x2.extract_lane(lower, 0);
    total += f64x2.extract_lane(lower, 1);
    x += BAND * row;
  }
  for (; t < rows; t++) {
    let sum: f64 = 0;
    for (let j: usize = 0; j < row; j += 8) sum += load<f64>(x + j) * load<f64>(weights + j);
    total += sum * sum;
    x += row;
  }
  return total;
}
