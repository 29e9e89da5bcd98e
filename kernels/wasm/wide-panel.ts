// Packed panels of six neighbouring columns, [k][6]: the right side of tiles, and in halves of three columns their left side.

/** Bytes of one packed panel of k summands. */
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
