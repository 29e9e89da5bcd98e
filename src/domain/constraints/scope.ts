import { compareText } from '../refusals/findings.js';
import type { RowContext } from './constraint-class.js';
import type { FurtherParameters, Limit, SecurityRow } from './program-row.js';

/**
 * Returns the positions of the securities that a row covers, ascending. Null means all securities. Identifiers outside
 * the problem are ignored.
 */
export function listSecuritiesInScope(identifiers: readonly string[] | null, context: RowContext): number[] {
  const { covers = coverEverySecurity } = context;
  if (identifiers === null) return context.identifiers.flatMap((_, name) => (covers(name) ? [name] : []));
  const identifierSet = new Set(identifiers);
  return context.identifiers.flatMap((identifier, name) => (identifierSet.has(identifier) ? [name] : []));
}

const coverEverySecurity = () => true;

/** Key of the group that contains the securities without a group. */
export const NO_GROUP = '';

export interface Group {
  readonly group: string;
  /** Positions of the securities, ascending. */
  readonly members: Int32Array;
}

/**
 * Returns the groups that a row covers, in order of their names: the listed groups, or for null all groups with
 * members.
 */
export function listGroupsInScope(field: string, groups: readonly string[] | null, context: RowContext): Group[] {
  const { covers = coverEverySecurity } = context;
  const groupByName = context.categories(field).map((category) => category ?? NO_GROUP);
  const coveredGroups = groups ?? groupByName.filter((_, name) => covers(name));
  const members = new Map<string, number[]>(coveredGroups.map((group) => [group, []]));
  groupByName.forEach((group, name) => members.get(group)?.push(name));
  return [...members]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([group, positions]) => ({ group, members: Int32Array.from(positions) }));
}

/** Returns a vector of ones for members and zeros for other securities, [N]. */
export function createIndicator(members: Int32Array, { identifiers }: RowContext): Float64Array {
  const coefficients = new Float64Array(identifiers.length);
  for (const name of members) coefficients[name] = 1;
  return coefficients;
}

interface Trade {
  readonly name: number;
  /** Weight before the trade. */
  readonly from: number;
  /** Maximum change of the weight in either direction. */
  readonly room: number;
  readonly parameter: string;
  /** Change of `room` per unit of the parameter. */
  readonly slope: number;
  /** Other parameters that change `room`. */
  readonly further?: FurtherParameters;
}

/** Returns bounds between which one weight may change by `room` in either direction. */
export function readTradeBounds(trade: Trade, { identifiers }: RowContext): SecurityRow {
  return {
    form: 'name',
    name: trade.name,
    lower: createTradeLimit(trade, -1),
    upper: createTradeLimit(trade, 1),
    member: identifiers[trade.name]!,
  };
}

function createTradeLimit({ from, room, parameter, slope, further }: Trade, side: 1 | -1): Limit {
  const limit: Limit = { value: from + side * room, parameter, slope: side * slope };
  if (further === undefined) return limit;
  const slopes = Object.fromEntries(Object.entries(further.slopes).map(([name, value]) => [name, side * value]));
  return { ...limit, further: { slopes, valueOf: (params) => from + side * further.valueOf(params) } };
}
