import { formatDay } from '#domain/time/days.js';
import { isCurrency, parsePair } from '#domain/market/currency-codes.js';
import { suggestName } from '#base/text/nearest-name.js';
import type { MarketContent } from './market-content.js';

/** Currency that neither ISO 4217 nor the store defines. */
export interface UnknownCurrency {
  readonly identifier: string;
  readonly table: 'reference' | 'series';
  readonly currency: string;
  /** First day on which the currency applies. It is null if the data does not state it. */
  readonly from: string | null;
  readonly message: string;
}

/**
 * Returns currencies of securities and series that are unknown. Such a currency is neither an ISO 4217 code nor a minor
 * unit, and the store has no exchange rate for it.
 * @cost O(securities, series and reference rows)
 */
export function findUnknownCurrencies({ identifiers, reference, series }: MarketContent): UnknownCurrency[] {
  const names = [...identifiers, ...(series?.keys() ?? [])];
  const pairCurrencies = new Set(names.flatMap(listUnknownHalves));
  const results: UnknownCurrency[] = [];
  const checkCurrency = (currency: unknown, about: Pick<UnknownCurrency, 'identifier' | 'table' | 'from'>): void => {
    if (typeof currency !== 'string' || currency === '' || isCurrency(currency) || pairCurrencies.has(currency)) return;
    const fromText = about.from === null ? '' : ` from ${about.from}`;
    const suggestion = suggestName(currency, isCurrency(currency.toUpperCase()) ? [currency.toUpperCase()] : []);
    const message = `The CURRENCY of ${about.identifier}${fromText} is ${JSON.stringify(currency.slice(0, 80))}, which is not an ISO 4217 code, and the store has no exchange rate for it.${suggestion}`;
    results.push({ ...about, currency, message });
  };
  const column = reference.columns.indexOf('CURRENCY');
  if (column >= 0)
    for (const [identifier, rows] of reference.rows)
      for (const { validFrom, values } of rows)
        checkCurrency(values[column], {
          identifier,
          table: 'reference',
          from: validFrom === null ? null : formatDay(validFrom),
        });
  for (const { identifier, currency } of series?.values() ?? [])
    checkCurrency(currency, { identifier, table: 'series', from: null });
  return results;
}

/** Returns the unknown currency of a pair with one known currency. */
function listUnknownHalves(name: string): string[] {
  const pair = parsePair(name);
  if (pair === undefined) return [];
  const [from, to] = pair;
  return isCurrency(from) ? [to] : isCurrency(to) ? [from] : [];
}
