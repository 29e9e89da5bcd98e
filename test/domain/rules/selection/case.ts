import type { SlowMarket } from '../slow-market.js';

export interface Case {
  readonly type: string;
  readonly params: Record<string, unknown>;
  /** Returns the securities of the universe that the rule keeps. They are computed from the definition of the rule. */
  keeps(slow: SlowMarket, universe: readonly string[], t: number): Iterable<string>;
}

export type Values = Map<string, number | null>;

export const createValues = (universe: readonly string[], readValue: (name: string) => number | null): Values =>
  new Map(universe.map((name) => [name, readValue(name)]));
export const selectBy = (all: Values, passes: (value: number) => boolean, include = false) =>
  [...all].filter(([, value]) => (value === null ? include : passes(value))).map(([name]) => name);
export function groupNames(names: readonly string[], getGroup: (name: string) => unknown): string[][] {
  const groups = [...new Set(names.map(getGroup))];
  return groups.map((group) => names.filter((name) => getGroup(name) === group));
}

export const computeByGroup = (slow: SlowMarket, universe: readonly string[], column: string) =>
  groupNames(universe, (name) => slow.reference(name, column));
export const createPart = (all: Values, names: readonly string[]): Values =>
  new Map(names.map((name) => [name, all.get(name)!]));
