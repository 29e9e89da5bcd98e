import type { ValueConflict } from '../tables/row-conflicts.js';

/** Treatment of several rows with the same security and date. */
export type DuplicatePolicy = 'refuse' | 'identical' | 'first' | 'last';

export interface RepetitionTerms {
  readonly onDuplicate: DuplicatePolicy;
  /** True to merge rows of several files into one bar. Each file must supply different fields. */
  readonly isJoined: boolean;
}

/** Returns true if a repeated row of a cell is accepted. Applies the changes that the row makes. */
export function isMet(
  { onDuplicate, isJoined }: RepetitionTerms,
  panels: readonly Float64Array[],
  cell: number,
  valueOf: (field: number) => number,
): boolean {
  if (onDuplicate === 'refuse' && !isJoined) return false;
  for (let field = 0; field < panels.length; field++) {
    const panel = panels[field]!;
    const value = valueOf(field);
    const storedValue = panel[cell]!;
    if (isJoined && value !== value) continue;
    if (onDuplicate === 'last' || (isJoined && storedValue !== storedValue)) panel[cell] = value;
    else if (onDuplicate === 'refuse' || (onDuplicate === 'identical' && !Object.is(storedValue, value))) return false;
  }
  return true;
}

/** Returns the first field in which a repeated row of a cell differs. Returns undefined if all values are equal. */
export function findValueConflict(
  {
    fields,
    panels,
    cell,
  }: { readonly fields: readonly string[]; readonly panels: readonly Float64Array[]; readonly cell: number },
  valueOf: (field: number) => number,
): Pick<ValueConflict, 'column' | 'first' | 'other'> | undefined {
  const position = panels.findIndex((panel, field) => !Object.is(panel[cell], valueOf(field)));
  return position < 0
    ? undefined
    : { column: fields[position]!, first: panels[position]![cell]!, other: valueOf(position) };
}
