/** Returns the values of a subset of columns, both ascending; undefined if a column is not in `known`. */
export function pickValues(known: Int32Array, values: Float64Array, columns: Int32Array): Float64Array | undefined {
  if (known === columns) return values;
  const picked = new Float64Array(columns.length);
  let position = 0;
  for (let i = 0; i < columns.length; i++) {
    while (position < known.length && known[position]! < columns[i]!) position++;
    if (known[position] !== columns[i]) return undefined;
    picked[i] = values[position]!;
  }
  return picked;
}
