/** Units of securities, and an amount of money. */
export interface HoldingValue {
  /** Columns of the securities in a row of the panel, ascending, at least [count]. */
  readonly columns: Int32Array;
  /** Units by position in `columns`, at least [count]. */
  readonly units: Float64Array;
  readonly count: number;
  /** Money added to the value of the units. */
  readonly money: number;
}

/**
 * Computes the value of a holding in one session. The value is the money plus the sum of units times unit values.
 * @param panel    Unit value of each security, [sessions x securities].
 * @param row      Start of the row of the session.
 * @param holding  Holding.
 * @returns        Value. Four sums are accumulated side by side and added as a + b + (c + d). The first sum includes
 *                 the money and the securities that remain after groups of four.
 * @cost           count multiplications and additions.
 * @source         Definition; bit-identical on every engine.
 */
export function sumHoldingValue(
  panel: Float64Array,
  row: number,
  { columns, units, count, money }: HoldingValue,
): number {
  const fours = count & ~3;
  let a = money;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let k = 0; k < fours; k += 4) {
    a += units[k]! * panel[row + columns[k]!]!;
    b += units[k + 1]! * panel[row + columns[k + 1]!]!;
    c += units[k + 2]! * panel[row + columns[k + 2]!]!;
    d += units[k + 3]! * panel[row + columns[k + 3]!]!;
  }
  for (let k = fours; k < count; k++) a += units[k]! * panel[row + columns[k]!]!;
  return a + b + (c + d);
}
