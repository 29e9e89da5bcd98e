import { findListedIdentifiers, type IndexDocument } from '../documents/index-document.js';
import { isRateAvailable, listPairs } from '../market/currency-pairs.js';
import { createPair } from '../market/currency-codes.js';
import type { MarketData } from '../market/market-data.js';
import { isBlank, createReferenceSpells, type ReferenceSpell } from '../market/reference-spells.js';

/**
 * Returns the identifiers of the missing exchange rates, ascending. These are rates from the currencies of a universe
 * (default: all securities) into the currency of an index, if the store has neither the rate nor two rates from which
 * it can be derived.
 */
export function findMissingRates(market: MarketData, document: IndexDocument): string[] {
  const missingCurrencies = listRequiredCurrencies(market, document).filter(
    (from) => !isRateAvailable((pair) => isCurrencyHeld(market, pair), from, document.currency),
  );
  return [...new Set(missingCurrencies.map((from) => createPair(from, document.currency)))].sort();
}

/** Returns the currencies of the securities that a universe lists. Default: of all securities. */
export function listRequiredCurrencies(market: MarketData, { universe }: Pick<IndexDocument, 'universe'>): string[] {
  const listedIdentifiers = findListedIdentifiers(universe);
  const list = listedIdentifiers && new Set(listedIdentifiers);
  return [...groupByCurrency(market)].flatMap(([code, names]) =>
    list === undefined || names.some((name) => list.has(name)) ? [code] : [],
  );
}

/** Returns true if a market has a security or series of this name. */
export function isCurrencyHeld(market: MarketData, name: string): boolean {
  return listHeldCurrencies(market).has(name);
}

/** Returns the currencies in which securities of a market are quoted. */
export const listQuotedCurrencies = (market: MarketData): string[] => [...groupByCurrency(market).keys()];

/** Returns the currencies in which securities of a market are quoted, including the currency of the store. */
export const listCurrencies = (market: MarketData): string[] => [
  ...listQuotedCurrencies(market),
  ...(market.currency == null ? [] : [market.currency]),
];

const securitiesByCurrency = new WeakMap<MarketData, ReadonlyMap<string, readonly string[]>>();
const heldNamesByMarket = new WeakMap<MarketData, ReadonlySet<string>>();

/** Returns the securities and series of a market. @cost O(N) on the first call */
function listHeldCurrencies(market: MarketData): ReadonlySet<string> {
  const storedNames =
    heldNamesByMarket.get(market) ?? new Set([...market.identifiers, ...(market.series?.keys() ?? [])]);
  heldNamesByMarket.set(market, storedNames);
  return storedNames;
}

/**
 * Returns the securities of a market that ever had a currency, by currency code. @cost O(rows of the reference table)
 * on the first call
 */
function groupByCurrency(market: MarketData): ReadonlyMap<string, readonly string[]> {
  const cachedNames = securitiesByCurrency.get(market);
  if (cachedNames !== undefined) return cachedNames;
  const names = new Map<string, string[]>();
  for (const [column, spells] of createReferenceSpells(market, 'CURRENCY').entries()) {
    for (const { value } of spells) {
      if (typeof value !== 'string' || value === '') continue;
      const currencyNames = names.get(value) ?? [];
      names.set(value, currencyNames);
      if (currencyNames.at(-1) !== market.identifiers[column]) currencyNames.push(market.identifiers[column]!);
    }
  }
  securitiesByCurrency.set(market, names);
  return names;
}

/**
 * Returns the securities of a universe (default: all) that have a price bar but no currency on some day, ascending.
 * Exchange rates are excluded. The list is empty if the store declares a currency. The prices of these securities are
 * assumed to be in the currency of the index.
 */
export function listSecuritiesWithoutCurrency(market: MarketData, { currency, universe }: IndexDocument): string[] {
  if (market.currency != null) return [];
  const listedIdentifiers = findListedIdentifiers(universe);
  const list = listedIdentifiers && new Set(listedIdentifiers);
  const pairs = listPairs(market, [...groupByCurrency(market).keys(), currency]);
  return listWithoutCurrency(market).filter((name) => !pairs.has(name) && (list === undefined || list.has(name)));
}

const withoutCurrencyByMarket = new WeakMap<MarketData, readonly string[]>();

/**
 * Returns the securities with a price bar but no currency on some day, ascending.
 * @cost O(N), and O(T) for each security whose currency begins late, on the first call
 */
function listWithoutCurrency(market: MarketData): readonly string[] {
  const cachedNames = withoutCurrencyByMarket.get(market);
  if (cachedNames !== undefined) return cachedNames;
  const spells = createReferenceSpells(market, 'CURRENCY');
  const names = market.identifiers.filter((_, column) => {
    const columnSpells = spells[column]!;
    return (
      columnSpells.length === 0 ||
      columnSpells.some(({ value }) => isBlank(value)) ||
      hasBarBefore(market, column, columnSpells[0]!)
    );
  });
  withoutCurrencyByMarket.set(market, names);
  return names;
}

/** Returns true if a security has a price bar before its first currency is stated. */
function hasBarBefore({ dates, fields, identifiers }: MarketData, column: number, { from }: ReferenceSpell): boolean {
  const close = fields.get('CLOSE')!;
  for (let row = 0; row < dates.length && dates[row]! < from; row++) {
    const price = close[row * identifiers.length + column]!;
    if (price === price) return true;
  }
  return false;
}
