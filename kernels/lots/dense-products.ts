/** Solves L L' x = b in place. @param factor  L, [order x order] row-major */
export function solveTriangles(factor: Float64Array, order: number, x: Float64Array): void {
  for (let i = 0; i < order; i++) {
    let value = x[i]!;
    for (let j = 0; j < i; j++) value -= factor[i * order + j]! * x[j]!;
    x[i] = value / factor[i * order + i]!;
  }
  for (let i = order - 1; i >= 0; i--) {
    const value = x[i]! / factor[i * order + i]!;
    x[i] = value;
    for (let j = 0; j < i; j++) x[j]! -= factor[i * order + j]! * value;
  }
}

/** Returns the transpose of a row-major matrix. */
export function transpose(a: Float64Array, rows: number, columns: number): Float64Array {
  const out = new Float64Array(a.length);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) out[j * rows + i] = a[i * columns + j]!;
  return out;
}

interface ProductsOut {
  readonly rows: number;
  readonly length: number;
  readonly out: Float64Array;
}

/** Computes the lower triangle of X Y', two rows at a time; an odd last row is paired with the previous row. */
export function computeTriangle(
  x: Float64Array,
  y: Float64Array,
  { rows, length, out, stride }: ProductsOut & { readonly stride: number },
): void {
  for (let f = 0; f < rows; f += 2) {
    const f0 = f * length;
    const f1 = Math.min(f + 1, rows - 1) * length;
    for (let g = 0; g <= f + 1; g += 2) {
      const g0 = g * length;
      const g1 = Math.min(g + 1, rows - 1) * length;
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      for (let i = 0; i < length; i++) {
        const x0 = x[f0 + i]!;
        const x1 = x[f1 + i]!;
        const y0 = y[g0 + i]!;
        const y1 = y[g1 + i]!;
        a += x0 * y0;
        b += x0 * y1;
        c += x1 * y0;
        d += x1 * y1;
      }
      out[f * stride + g] = a;
      if (g + 1 < rows) out[f * stride + g + 1] = b;
      if (f + 1 >= rows) continue;
      out[(f + 1) * stride + g] = c;
      if (g + 1 < rows) out[(f + 1) * stride + g + 1] = d;
    }
  }
}

/** Computes the products of the rows of X with one row, which begins at `from`. */
export function multiplyByRow(
  x: Float64Array,
  row: Float64Array,
  { from, rows, length, out, at }: ProductsOut & { readonly from: number; readonly at: number },
): void {
  for (let f = 0; f < rows; f += 2) {
    const f0 = f * length;
    const f1 = Math.min(f + 1, rows - 1) * length;
    let a = 0;
    let b = 0;
    for (let i = 0; i < length; i++) {
      const value = row[from + i]!;
      a += x[f0 + i]! * value;
      b += x[f1 + i]! * value;
    }
    out[at + f] = a;
    if (f + 1 < rows) out[at + f + 1] = b;
  }
}
