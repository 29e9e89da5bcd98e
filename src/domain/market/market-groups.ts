import type { Day } from '../time/days.js';
import type { MarketData, ReferenceValue } from './market-data.js';
import { referenceSpells } from './reference-spells.js';

/** Names without a group form one of their own. */
export const UNCLASSIFIED = 'UNCLASSIFIED';

export function groupOf(value: ReferenceValue): string {
  return value === null || value === '' ? UNCLASSIFIED : String(value);
}

/** A group, and the first day on which it may be another; Infinity where it stays. */
export interface GroupSpell {
  readonly group: string;
  readonly until: number;
}

/** Groups of names as known on a day, by a reference column. */
export function groupSpells(market: MarketData, by: string): (name: string, day: Day) => GroupSpell {
  const spells = referenceSpells(market, by);
  const byName = new Map(market.identifiers.map((identifier, column) => [identifier, spells[column]!]));
  return (name, day) => {
    const own = byName.get(name) ?? [];
    const at = own.findLastIndex(({ from }) => from <= day);
    return { group: groupOf(own[at]?.value ?? null), until: own[at + 1]?.from ?? Infinity };
  };
}

/** Issuers of names as known on a day; a name without one is its own. */
export function issuerSpells(market: MarketData, by: string): (name: string, day: Day) => GroupSpell {
  const spellOf = groupSpells(market, by);
  return (name, day) => {
    const { group, until } = spellOf(name, day);
    return { group: group === UNCLASSIFIED ? name : group, until };
  };
}

/** In place of a reference column: every security is a group by itself. */
export const OWN_GROUPS = 'IDENTIFIER';

/** Every name is its own group. */
export const ownGroup = (name: string): GroupSpell => ({ group: name, until: Infinity });
