/** Range of an array, and a position in it. */
interface SelectedRange {
  readonly from: number;
  /** Last index of the range. */
  readonly to: number;
  readonly position: number;
}

/**
 * Selects a value by Hoare's algorithm. Moves the value that belongs at a position of the sorted range to this
 * position, and returns it. Afterwards no earlier value in the range is larger. No value may be NaN. @cost linear on
 * average
 */
export function select(values: Float64Array, { from, to, position }: SelectedRange): number {
  let left = from;
  let right = to;
  while (left < right) {
    const pivot = values[position]!;
    let i = left;
    let j = right;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i > j) break;
      const savedValue = values[i]!;
      values[i++] = values[j]!;
      values[j--] = savedValue;
    }
    if (j < position) left = i;
    if (i > position) right = j;
  }
  return values[position]!;
}
