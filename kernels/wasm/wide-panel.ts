// Packed panels of six adjacent columns, [k][6]. A panel is the right operand of tiles. In halves of three columns, it
// is also their left operand.

/** Returns the size of a packed panel of k summands in bytes. */
// @ts-ignore: decorator
@inline
export function widePanelBytes(k: i32): usize {
  return <usize>k * 48;
}

/** Returns the number of panels for the columns. */
// @ts-ignore: decorator
@inline
export function countWidePanels(columns: i32): i32 {
  return (columns + 5) / 6;
}

/**
 * Returns the number of panels with six columns. The last one or two panels have at most four columns, so that at most
 * one column is empty.
 */
export function countSixes(columns: i32): i32 {
  const rest = (columns + 1) % 6;
  const fours = rest == 2 || rest == 3 ? 2 : rest == 4 || rest == 5 ? 1 : 0;
  return max(0, countWidePanels(columns) - fours);
}

/** Returns the number of leading panels of six existing columns. The last panel may have one column less. */
// @ts-ignore: decorator
@inline
export function countWholePanels(columns: i32, sixes: i32): i32 {
  return columns >= sixes * 6 ? sixes : sixes - 1;
}

/** Returns the first column of a panel. */
// @ts-ignore: decorator
@inline
export function getPanelColumn(panel: i32, sixes: i32): i32 {
  return panel * 6 - (max(0, panel - sixes) << 1);
}

/** Packs the columns of the panels from `first` on; entries beyond the last column are 0. */
export function packWide(x: usize, columns: i32, first: i32, k: i32, packed: usize): void {
  const ld = <usize>columns << 3;
  const bytes = widePanelBytes(k);
  const panels = countWidePanels(columns);
  const sixes = countSixes(columns);
  const whole = countWholePanels(columns, sixes);
  let p = first;
  for (; p + 8 <= whole; p += 8) packEight(x + <usize>p * 48, ld, k, packed + <usize>p * bytes);
  for (; p < whole; p++) packSix(x + <usize>p * 48, ld, k, packed + <usize>p * bytes);
  for (; p < panels; p++) {
    const column = getPanelColumn(p, sixes);
    packPart(x + (<usize>column << 3), ld, k, min(columns, getPanelColumn(p + 1, sixes)) - column, packed + <usize>p * bytes);
  }
}

/** Packs eight panels at once. Their rows are adjacent, so that shared cache lines and pages are read once. */
function packEight(from: usize, ld: usize, k: i32, to: usize): void {
  const bytes = widePanelBytes(k);
  for (const end = to + bytes; to < end; to += 48) {
    const fifth = to + (bytes << 2);
    copySix(from, to);
    copySix(from + 48, to + bytes);
    copySix(from + 96, to + (bytes << 1));
    copySix(from + 144, to + 3 * bytes);
    copySix(from + 192, fifth);
    copySix(from + 240, fifth + bytes);
    copySix(from + 288, fifth + (bytes << 1));
    copySix(from + 336, fifth + 3 * bytes);
    from += ld;
  }
}

function packSix(from: usize, ld: usize, k: i32, to: usize): void {
  for (const end = to + widePanelBytes(k); to < end; to += 48) {
    copySix(from, to);
    from += ld;
  }
}

// @ts-ignore: decorator
@inline
function copySix(from: usize, to: usize): void {
  v128.store(to, v128.load(from));
  v128.store(to, v128.load(from, 16), 16);
  v128.store(to, v128.load(from, 32), 32);
}

function packPart(from: usize, ld: usize, k: i32, columns: i32, to: usize): void {
  for (const end = to + widePanelBytes(k); to < end; to += 48) {
    for (let j = 0; j < 6; j++) store<f64>(to + (<usize>j << 3), j < columns ? load<f64>(from + (<usize>j << 3)) : 0);
    from += ld;
  }
}
