/**
 * Returns a table from days, counted from the first day, to rows. A look-up in this table replaces a search for every
 * cell.
 */
export function createDayPositions(dates: Int32Array): Int32Array {
  const positions = new Int32Array(dates.length === 0 ? 0 : dates.at(-1)! - dates[0]! + 1).fill(-1);
  for (let t = 0; t < dates.length; t++) positions[dates[t]! - dates[0]!] = t;
  return positions;
}
