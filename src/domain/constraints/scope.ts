import { compareText } from '../findings.js';
import type { RowContext } from './constraint-class.js';
import type { NameRow } from './program-row.js';

/** Positions of the names a row covers, ascending: all of them for null; identifiers outside the problem are left out. */
export function namesInScope(identifiers: readonly string[] | null, context: RowContext): number[] {
  if (identifiers === null) return context.identifiers.map((_, name) => name);
  const wanted = new Set(identifiers);
  return context.identifiers.flatMap((identifier, name) => (wanted.has(identifier) ? [name] : []));
}

/** Name of the group of names that have none. */
export const NO_GROUP = '';

export interface Group {
  readonly group: string;
  /** Positions, ascending. */
  readonly members: Int32Array;
}

/** The groups a row covers, by name ascending: each group that has members for null, else the groups named. */
export function groupsInScope(field: string, groups: readonly string[] | null, context: RowContext): Group[] {
  const members = new Map<string, number[]>();
  for (const group of groups ?? []) members.set(group, []);
  context.categories(field).forEach((category, name) => {
    const group = category ?? NO_GROUP;
    if (groups === null && !members.has(group)) members.set(group, []);
    members.get(group)?.push(name);
  });
  return [...members]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([group, positions]) => ({ group, members: Int32Array.from(positions) }));
}

/** One for members, nought for the others, [N]. */
export function indicator(members: Int32Array, { identifiers }: RowContext): Float64Array {
  const coefficients = new Float64Array(identifiers.length);
  for (const name of members) coefficients[name] = 1;
  return coefficients;
}

interface Trade {
  readonly name: number;
  /** Weight before the trade. */
  readonly from: number;
  /** Largest change of weight. */
  readonly room: number;
  readonly parameter: string;
  /** Change of `room` per unit of the parameter. */
  readonly slope: number;
}

/** Bounds of one weight that may move by `room` either way. */
export function tradeBounds({ name, from, room, parameter, slope }: Trade, { identifiers }: RowContext): NameRow {
  return {
    form: 'name',
    name,
    lower: { value: from - room, parameter, slope: -slope },
    upper: { value: from + room, parameter, slope },
    member: identifiers[name]!,
  };
}
