// Packed panels of six neighbouring columns, [k][6], and the same spread for the left side of tiles: [k][3][2] twice.

/** Bytes of one packed panel of k summands, or of three of its columns spread. */
// @ts-ignore: decorator
@inline
export function widePanelBytes(k: i32): usize {
  return <usize>k * 48;
}

/** Panels that cover so many columns. */
// @ts-ignore: decorator
@inline
export function widePanelsOf(columns: i32): i32 {
  return (columns + 5) / 6;
}

/** How many of these panels hold six columns; those after them, two at most, hold four, so that no more than one column stays empty. */
export function sixesOf(columns: i32): i32 {
  const rest = (columns + 1) % 6;
  const fours = rest == 2 || rest == 3 ? 2 : rest == 4 || rest == 5 ? 1 : 0;
  return max(0, widePanelsOf(columns) - fours);
}

/** First column of a panel. */
// @ts-ignore: decorator
@inline
export function columnOf(panel: i32, sixes: i32): i32 {
  return panel * 6 - (max(0, panel - sixes) << 1);
}

/** Packs the columns of the panels from `first` on; entries beyond the last column are 0. */
export function packWide(x: usize, columns: i32, first: i32, k: i32, packed: usize): void {
  const ld = <usize>columns << 3;
  const bytes = widePanelBytes(k);
  const panels = widePanelsOf(columns);
  const sixes = sixesOf(columns);
  for (let p = first; p < panels; p++) {
    const column = columnOf(p, sixes);
    const width = min(columns, columnOf(p + 1, sixes)) - column;
    if (width == 6) packSix(x + (<usize>column << 3), ld, k, packed + <usize>p * bytes);
    else packPart(x + (<usize>column << 3), ld, k, width, packed + <usize>p * bytes);
  }
}

function packSix(from: usize, ld: usize, k: i32, to: usize): void {
  for (const end = to + widePanelBytes(k); to < end; to += 48) {
    v128.store(to, v128.load(from));
    v128.store(to, v128.load(from, 16), 16);
    v128.store(to, v128.load(from, 32), 32);
    from += ld;
  }
}

function packPart(from: usize, ld: usize, k: i32, columns: i32, to: usize): void {
  for (const end = to + widePanelBytes(k); to < end; to += 48) {
    for (let j = 0; j < 6; j++) store<f64>(to + (<usize>j << 3), j < columns ? load<f64>(from + (<usize>j << 3)) : 0);
    from += ld;
  }
}

/** A packed panel with each entry in both lanes: its first three columns, then its last three. */
export function spreadWide(k: i32, panel: usize, to: usize): void {
  const half = widePanelBytes(k);
  let low = to + half;
  for (const end = low; to < end; to += 48) {
    v128.store(to, v128.load_splat<f64>(panel));
    v128.store(to, v128.load_splat<f64>(panel, 8), 16);
    v128.store(to, v128.load_splat<f64>(panel, 16), 32);
    v128.store(low, v128.load_splat<f64>(panel, 24));
    v128.store(low, v128.load_splat<f64>(panel, 32), 16);
    v128.store(low, v128.load_splat<f64>(panel, 40), 32);
    low += 48;
    panel += 48;
  }
}
