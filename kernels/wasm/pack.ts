// Packed panels. A panel contains four adjacent vectors of an operand, interleaved as [k][4]. Missing vectors at the
// edge are zero.

/** Returns the size of a packed panel of k entries in bytes. */
// @ts-ignore: decorator
@inline
export function computePanelBytes(k: i32): usize {
  return <usize>k << 5;
}

/** Returns the number of panels for n vectors. */
// @ts-ignore: decorator
@inline
export function countPanels(n: i32): i32 {
  return (n + 3) >> 2;
}

/**
 * Packs `vectors` vectors of k entries into panels at `to`. Entry e of vector v is at from + v * vectorStride + e *
 * entryStride (strides in bytes).
 */
export function pack(from: usize, vectorStride: usize, entryStride: usize, vectors: i32, k: i32, to: usize): void {
  const whole = vectors >> 2;
  for (let p = 0; p < whole; p++) {
    const source = from + <usize>(p << 2) * vectorStride;
    const target = to + <usize>p * computePanelBytes(k);
    if (vectorStride == 8) packAdjacent(source, entryStride, k, target);
    else packApart(source, vectorStride, entryStride, k, target);
  }
  const left = vectors & 3;
  if (left > 0) packEdge(from + <usize>(whole << 2) * vectorStride, vectorStride, entryStride, left, k, to + <usize>whole * computePanelBytes(k));
}

/** Packs four vectors whose entries are adjacent: two loads per entry. */
function packAdjacent(from: usize, entryStride: usize, k: i32, to: usize): void {
  for (let e = 0; e < k; e++) {
    v128.store(to, v128.load(from));
    v128.store(to, v128.load(from, 16), 16);
    from += entryStride;
    to += 32;
  }
}

function packApart(from: usize, vectorStride: usize, entryStride: usize, k: i32, to: usize): void {
  const second = vectorStride;
  const third = vectorStride << 1;
  const fourth = third + vectorStride;
  for (let e = 0; e < k; e++) {
    store<f64>(to, load<f64>(from));
    store<f64>(to, load<f64>(from + second), 8);
    store<f64>(to, load<f64>(from + third), 16);
    store<f64>(to, load<f64>(from + fourth), 24);
    from += entryStride;
    to += 32;
  }
}

function packEdge(from: usize, vectorStride: usize, entryStride: usize, vectors: i32, k: i32, to: usize): void {
  for (let e = 0; e < k; e++) {
    for (let v = 0; v < 4; v++) {
      const value = v < vectors ? load<f64>(from + <usize>v * vectorStride) : 0;
      store<f64>(to + (<usize>v << 3), value);
    }
    from += entryStride;
    to += 32;
  }
}
