// Passes over chosen columns of a row-major panel.

/** Rows whose groups are summed at a time: the four additions of a column do not wait for each other. */
const BAND: i32 = 4;

/** out := columns of x, less a constant: see `algebra/select-columns`. `columns` are int32 positions. */
export function selectColumns(x: usize, rows: i32, width: i32, columns: usize, count: i32, less: f64, out: usize): void {
  const row = <usize>width << 3;
  for (let t = 0; t < rows; t++) {
    let at = columns;
    let k = 0;
    for (; k + 4 <= count; k += 4) {
      store<f64>(out, load<f64>(x + (<usize>load<i32>(at) << 3)) - less);
      store<f64>(out, load<f64>(x + (<usize>load<i32>(at, 4) << 3)) - less, 8);
      store<f64>(out, load<f64>(x + (<usize>load<i32>(at, 8) << 3)) - less, 16);
      store<f64>(out, load<f64>(x + (<usize>load<i32>(at, 12) << 3)) - less, 24);
      at += 16;
      out += 32;
    }
    for (; k < count; k++) {
      store<f64>(out, load<f64>(x + (<usize>load<i32>(at) << 3)) - less);
      at += 4;
      out += 8;
    }
    x += row;
  }
}

/**
 * Means of groups of columns, row by row, and x less them: see `algebra/centre-groups`. `order` are the int32 byte offsets of the columns
 * of the first group, of the second and so on, ascending in each; `sizes` int32 columns of each group.
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

/** out := sums of the squares of the columns of a [rows x columns] panel less the means, every column first row to last. */
export function columnSquaresAbout(x: usize, rows: i32, columns: i32, means: usize, out: usize): void {
  memory.fill(out, 0, <usize>columns << 3);
  for (let t = 0; t < rows; t++) {
    let at = out;
    let mean = means;
    let j = 0;
    for (; j + 2 <= columns; j += 2) {
      const value = f64x2.sub(v128.load(x), v128.load(mean));
      v128.store(at, f64x2.add(v128.load(at), f64x2.mul(value, value)));
      at += 16;
      mean += 16;
      x += 16;
    }
    if (j < columns) {
      const value = load<f64>(x) - load<f64>(mean);
      store<f64>(at, load<f64>(at) + value * value);
      x += 8;
    }
  }
}
