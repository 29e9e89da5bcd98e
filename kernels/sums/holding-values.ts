/** Units of names, and money beside them. */
export interface Holding {
  /** Columns of the names in a row of the panel, ascending, at least [count]. */
  readonly columns: Int32Array;
  /** At least [count]. */
  readonly units: Float64Array;
  readonly count: number;
  /** What is added to the value of the units. */
  readonly money: number;
}

/**
 * Value of a holding on one session: money and the sum of units times what a unit is worth.
 *
 * @param panel    What a unit of each name is worth, rows of names.
 * @param row      Beginning of the session's row.
 * @param holding  Units.
 * @returns        The value; four sums go side by side, the first with the money and what is left of the names, and are
 *                 added as a + b + (c + d).
 * @cost           count multiplications and additions.
 * @source         Definition. Engines have the same bits.
 */
export function holdingValue(panel: Float64Array, row: number, { columns, units, count, money }: Holding): number {
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
