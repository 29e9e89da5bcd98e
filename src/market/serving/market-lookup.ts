import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { CorporateAction, MarketData, Membership } from '#domain/market/market-data.js';
import { firstAtLeast, lastAtMost } from '#domain/numbers/search.js';

/** Positions of one name's data in a market. */
export interface MarketLookup {
  /** Column of a name, undefined when the market dataset does not hold it. */
  positionOf(identifier: string): number | undefined;
  /** True when any dataset contains the identifier. */
  holds(identifier: string): boolean;
  /** Actions of a name by ex day. */
  actionsOf(identifier: string): readonly CorporateAction[];
  /** Spells of a name in any universe. */
  membershipsOf(identifier: string): readonly Membership[];
  /** First and last date with a CLOSE, null when the name has none. */
  datesOf(identifier: string): { readonly start: Day; readonly end: Day } | null;
  /** Every name of any dataset, in code-point order. */
  readonly allIdentifiers: readonly string[];
}

const cache = new WeakMap<MarketData, MarketLookup>();

/** Rows of a table by name, kept with the table: versions of a store that have it in common share them. */
const grouped = new WeakMap<readonly object[], ReadonlyMap<string, readonly object[]>>();

/** The lookup of a market, made at its first use. @cost O(names + actions) once, then O(1) a question */
export function lookupOf(market: MarketData): MarketLookup {
  let lookup = cache.get(market);
  if (lookup === undefined) cache.set(market, (lookup = createLookup(market)));
  return lookup;
}

function createLookup(market: MarketData): MarketLookup {
  const { identifiers, dates } = market;
  const positions = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const actions = byIdentifier(market.actions);
  const memberships = byIdentifier(market.universes);
  const spans = new Map<string, { readonly start: Day; readonly end: Day } | null>();
  const close = market.fields.get('CLOSE')!;
  const all = new Set([...identifiers, ...market.reference.rows.keys(), ...actions.keys(), ...memberships.keys()]);

  function span(n: number): { readonly start: Day; readonly end: Day } | null {
    const step = identifiers.length;
    let first = 0;
    while (first < dates.length && Number.isNaN(close[first * step + n])) first += 1;
    if (first === dates.length) return null;
    let last = dates.length - 1;
    while (Number.isNaN(close[last * step + n])) last -= 1;
    return { start: dates[first]!, end: dates[last]! };
  }

  return {
    positionOf: (identifier) => positions.get(identifier),
    holds: (identifier) =>
      positions.has(identifier) ||
      market.reference.rows.has(identifier) ||
      actions.has(identifier) ||
      memberships.has(identifier),
    actionsOf: (identifier) => actions.get(identifier) ?? [],
    membershipsOf: (identifier) => memberships.get(identifier) ?? [],
    datesOf(identifier) {
      const n = positions.get(identifier);
      if (n === undefined) return null;
      let known = spans.get(identifier);
      if (known === undefined) spans.set(identifier, (known = span(n)));
      return known;
    },
    allIdentifiers: all.size === identifiers.length ? identifiers : [...all].sort(compareText),
  };
}

function byIdentifier<T extends { readonly identifier: string }>(
  items: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const known = grouped.get(items) as ReadonlyMap<string, readonly T[]> | undefined; // the value of a table is its rows
  if (known !== undefined) return known;
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.identifier);
    if (group === undefined) groups.set(item.identifier, [item]);
    else group.push(item);
  }
  grouped.set(items, groups);
  return groups;
}

/**
 * A value of a name as of a day: the latest one at or before it, at most `staleMax` dates of the store old.
 * @returns NaN when there is none
 */
export function valueAt(market: MarketData, field: string, position: number, day: Day, staleMax: number): number {
  const panel = market.fields.get(field);
  if (panel === undefined) return Number.NaN;
  const step = market.identifiers.length;
  const last = lastAtMost(market.dates, day);
  for (let t = last; t >= 0 && t >= last - staleMax; t--) {
    const value = panel[t * step + position]!;
    if (value === value) return value;
  }
  return Number.NaN;
}

/** Row of the store on which an action takes effect; its number of dates when that is still to come. */
export function effectiveRow(market: MarketData, { exDay }: CorporateAction): number {
  return firstAtLeast(market.dates, exDay);
}
