import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { CorporateAction, MarketData, Membership } from '#domain/market/market-data.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';

/** Lookup of the positions and actions of securities in a market. */
export interface MarketLookup {
  /** Returns the column of a security. Returns undefined if the market dataset does not contain it. */
  positionOf(identifier: string): number | undefined;
  /** Returns true if any dataset other than series contains the identifier. */
  holds(identifier: string): boolean;
  /** Returns the actions of a security, by ex-date. */
  actionsOf(identifier: string): readonly CorporateAction[];
  /** Returns the memberships of a security in any universe. */
  membershipsOf(identifier: string): readonly Membership[];
  /** Returns the first and last date with a CLOSE. Returns null if the security has none. */
  datesOf(identifier: string): { readonly start: Day; readonly end: Day } | null;
  /** Identifiers of all datasets other than series, in code-point order. */
  readonly allIdentifiers: readonly string[];
}

const lookupsByMarket = new WeakMap<MarketData, MarketLookup>();

/** Rows of a table by security. They are cached by table, because versions of a store may share tables. */
const positionsByGroup = new WeakMap<readonly object[], ReadonlyMap<string, readonly object[]>>();

/** Returns the lookup of a market, created at its first use. @cost O(securities + actions) once, then O(1) a call */
export function getLookup(market: MarketData): MarketLookup {
  let lookup = lookupsByMarket.get(market);
  if (lookup === undefined) lookupsByMarket.set(market, (lookup = createLookup(market)));
  return lookup;
}

function createLookup(market: MarketData): MarketLookup {
  const { identifiers, dates } = market;
  const positions = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const actions = groupByIdentifier(market.actions);
  const memberships = groupByIdentifier(market.universes);
  const spans = new Map<string, { readonly start: Day; readonly end: Day } | null>();
  const close = market.fields.get('CLOSE')!;
  const allIdentifiers = new Set([
    ...identifiers,
    ...market.reference.rows.keys(),
    ...actions.keys(),
    ...memberships.keys(),
  ]);

  function findSpan(n: number): { readonly start: Day; readonly end: Day } | null {
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
      let span = spans.get(identifier);
      if (span === undefined) spans.set(identifier, (span = findSpan(n)));
      return span;
    },
    allIdentifiers: allIdentifiers.size === identifiers.length ? identifiers : [...allIdentifiers].sort(compareText),
  };
}

function groupByIdentifier<T extends { readonly identifier: string }>(
  items: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const positions = positionsByGroup.get(items) as ReadonlyMap<string, readonly T[]> | undefined; // `groups` of this table were stored with its row type
  if (positions !== undefined) return positions;
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.identifier);
    if (group === undefined) groups.set(item.identifier, [item]);
    else group.push(item);
  }
  positionsByGroup.set(items, groups);
  return groups;
}

/**
 * Returns the latest value of a security on or before a day. The value is at most `staleMax` dates of the store old.
 * @returns NaN if there is none
 */
export function findValueAt(market: MarketData, field: string, position: number, day: Day, staleMax: number): number {
  const panel = market.fields.get(field);
  if (panel === undefined) return Number.NaN;
  const step = market.identifiers.length;
  const last = findLastAtMost(market.dates, day);
  for (let t = last; t >= 0 && t >= last - staleMax; t--) {
    const value = panel[t * step + position]!;
    if (value === value) return value;
  }
  return Number.NaN;
}

/** Returns the row of the store on which an action takes effect. For a future action, returns the number of dates. */
export function findEffectiveRow(market: MarketData, { exDay }: CorporateAction): number {
  return findFirstAtLeast(market.dates, exDay);
}
