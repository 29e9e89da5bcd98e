import type { BatchQuery, BatchReferenceResponse, ReferenceResponse } from '#contract/data.js';
import { type Day, parseValidDay, formatDay } from '#domain/time/days.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { type MarketData, type Membership, type ReferenceValue, readReference } from '#domain/market/market-data.js';
import { computeTrailingDividend } from '#market/content/dividends.js';
import { getLookup, findValueAt } from '#market/serving/market-lookup.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { LAST_DAY, refuseUnknownIdentifier, assertKnownIdentifier } from './window.js';

const DERIVED_FIELDS = ['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'DIVIDEND_YIELD', 'VALUE_TRADED'] as const;
type DerivedField = (typeof DERIVED_FIELDS)[number];

/** Returns reference values and memberships of a security. @param today default day of the memberships */
export function createReference(
  { market, handle }: ServedMarket,
  identifier: string,
  { as_of, today }: { readonly as_of?: string | undefined; readonly today: Day },
): ReferenceResponse {
  const lookup = getLookup(market);
  if (!lookup.holds(identifier)) throw refuseUnknownIdentifier(identifier, handle.datasetId);
  const day = as_of === undefined ? LAST_DAY : parseValidDay(as_of);
  return {
    identifier,
    fields: Object.fromEntries(
      market.reference.columns.map((column) => [column, readReference(market.reference, identifier, column, day)]),
    ),
    universes: lookup
      .membershipsOf(identifier)
      .map((membership) => toMembershipView(membership, as_of === undefined ? today : day)),
  };
}

/** Returns values of many securities from panels, reference columns and derived datapoints. */
export function createReferenceBatch(
  { market }: ServedMarket,
  { identifiers, fields, as_of }: BatchQuery,
): BatchReferenceResponse {
  const names = fields ?? market.reference.columns;
  assertKnownIdentifier(names, [...market.reference.columns, ...market.fields.keys(), ...DERIVED_FIELDS], 'fields');
  const day = as_of === undefined ? LAST_DAY : parseValidDay(as_of);
  const entries = identifiers.map((identifier) => {
    const isKnown = getLookup(market).holds(identifier);
    return {
      identifier,
      found: isKnown,
      fields: isKnown ? Object.fromEntries(names.map((name) => [name, getFieldAt(market, identifier, name, day)])) : {},
    };
  });
  return { entries, as_of: as_of ?? null };
}

/** Returns the value of a panel, a reference column or a derived field on a day; null if there is no value. */
export function getFieldAt(market: MarketData, identifier: string, name: string, day: Day): ReferenceValue {
  if (market.reference.columns.includes(name)) return readReference(market.reference, identifier, name, day);
  const position = getLookup(market).positionOf(identifier);
  if (position === undefined) return null;
  const value = market.fields.has(name)
    ? findValueAt(market, name, position, day, LIMITS.MAX_STALE_SESSIONS)
    : findDerivationDay(market, identifier, position, { name: name as DerivedField, day }); // checked by assertKnownIdentifier
  return Number.isFinite(value) ? value : null;
}

function findDerivationDay(
  market: MarketData,
  identifier: string,
  position: number,
  { name, day }: { readonly name: DerivedField; readonly day: Day },
): number {
  const getNumber = (field: string) =>
    market.fields.has(field)
      ? findValueAt(market, field, position, day, LIMITS.MAX_STALE_SESSIONS)
      : toNumber(readReference(market.reference, identifier, field, day));
  const hasOwnCap = market.fields.has('MARKET_CAP') || market.reference.columns.includes('MARKET_CAP');
  const computeMarketCap = () =>
    hasOwnCap ? getNumber('MARKET_CAP') : getNumber('CLOSE') * getNumber('SHARES_OUTSTANDING');
  switch (name) {
    case 'MARKET_CAP':
      return computeMarketCap();
    case 'FREE_FLOAT_MARKET_CAP': {
      const freeFloat = getNumber('FREE_FLOAT');
      return computeMarketCap() * (Number.isNaN(freeFloat) ? 1 : freeFloat);
    }
    case 'VALUE_TRADED':
      return getNumber('CLOSE') * getNumber('VOLUME');
    case 'DIVIDEND_YIELD':
      return (
        computeTrailingDividend(
          getLookup(market).actionsOf(identifier),
          Math.min(day, market.dates.at(-1)!),
          market.adjustment,
        ) / getNumber('CLOSE')
      );
  }
}

const toNumber = (value: ReferenceValue): number => (typeof value === 'number' ? value : Number.NaN);

function toMembershipView({ universe, start, end }: Membership, day: Day): ReferenceResponse['universes'][number] {
  return {
    universe,
    name: null,
    start: start === null ? null : formatDay(start),
    end: end === null ? null : formatDay(end),
    current: (start === null || start <= day) && (end === null || day < end),
  };
}
