import type { Day } from '../time/days.js';
import type { MarketData, ReferenceValue } from './market-data.js';
import { createReferenceSpells } from './reference-spells.js';

/** Group name of securities without a group. */
export const UNCLASSIFIED = 'UNCLASSIFIED';

export function readGroup(value: ReferenceValue): string {
  return value === null || value === '' ? UNCLASSIFIED : String(value);
}

/** Group of a security, and the first day on which it may change. The day is Infinity if the group never changes. */
export interface GroupSpell {
  readonly group: string;
  readonly until: number;
}

/** Returns a function for the group of a security known on a day, according to a reference column. */
export function listGroupSpells(market: MarketData, by: string): (name: string, day: Day) => GroupSpell {
  const spells = createReferenceSpells(market, by);
  const byName = new Map(market.identifiers.map((identifier, column) => [identifier, spells[column]!]));
  return (name, day) => {
    const nameSpells = byName.get(name) ?? [];
    const position = nameSpells.findLastIndex(({ from }) => from <= day);
    return {
      group: readGroup(nameSpells[position]?.value ?? null),
      until: nameSpells[position + 1]?.from ?? Infinity,
    };
  };
}

/** Returns a function for the issuer of a security known on a day. A security without an issuer is its own issuer. */
export function listIssuerSpells(market: MarketData, by: string): (name: string, day: Day) => GroupSpell {
  const findSpell = listGroupSpells(market, by);
  return (name, day) => {
    const { group, until } = findSpell(name, day);
    return { group: group === UNCLASSIFIED ? name : group, until };
  };
}

/** Column name that stands for no column: every security forms a separate group. */
export const SINGLE_GROUPS = 'IDENTIFIER';

/** Returns a group with a single security. */
export const createSingleGroup = (name: string): GroupSpell => ({ group: name, until: Infinity });
