/**
 * Returns the values of a subset of columns, both ascending. Returns undefined if a column is not in `valueColumns`.
 */
export function pickValues(
  valueColumns: Int32Array,
  values: Float64Array,
  columns: Int32Array,
): Float64Array | undefined {
  if (valueColumns === columns) return values;
  const pickedValues = new Float64Array(columns.length);
  let position = 0;
  for (let i = 0; i < columns.length; i++) {
    while (position < valueColumns.length && valueColumns[position]! < columns[i]!) position++;
    if (valueColumns[position] !== columns[i]) return undefined;
    pickedValues[i] = values[position]!;
  }
  return pickedValues;
}
