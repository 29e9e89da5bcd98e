import { parseValidDay, formatDay, type Day } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { findFirstRateDay, isRateAvailable } from '../market/currency-pairs.js';
import { isCurrency, findMajorUnit, parsePair, createPair } from '../market/currency-codes.js';
import { describeRateBeyond, findInvalidRate } from '../market/interest-rates.js';
import type { MarketData } from '../market/market-data.js';
import { listCurrencies } from './required-rates.js';
import { findOverlayType } from '../overlays/catalogue.js';
import type { IndexContext } from './index-context.js';
import { listSources, type OverlayDocument } from '../documents/index-document.js';

interface OverlayMarket {
  readonly market: MarketData;
  readonly indexOf: IndexContext['indexOf'];
  readonly severity: 'error' | 'warning';
}

/**
 * Reports series of interest rates and exchange rates that an overlay needs and the market lacks. Data that begin too
 * late cause a warning.
 */
export function checkOverlayOnMarket(document: OverlayDocument, on: OverlayMarket): Finding[] {
  const missingFindings = [
    ...reportMissingSeries(document, on),
    ...findOtherCurrencies(document, on),
    ...reportMissingPairs(document, on),
  ];
  if (on.severity === 'error') return missingFindings;
  const base = Math.max(parseValidDay(document.base_date), on.market.dates[0] ?? 0);
  return [...missingFindings, ...findLateSeries(document, on, base), ...reportUnquotedHedges(document, on)];
}

/** Reports series that a market lacks, and series whose values cannot be rates. */
function reportMissingSeries(
  { id: overlayId, overlay }: OverlayDocument,
  { market, severity }: OverlayMarket,
): Finding[] {
  return findOverlayType(overlay)
    .series(overlay)
    .flatMap(({ path: member, series: id }): Finding[] => {
      const path = `overlay.${member}`;
      const priceSeries = market.series?.get(id);
      if (priceSeries === undefined) {
        const message = `The store has no series ${id}, which the overlay ${overlayId} needs.`;
        return [{ severity, code: 'UNKNOWN_IDENTIFIER', path, message, value: id }];
      }
      if (severity === 'warning' && isPair(id)) {
        const message = `overlay.${member} must be an interest rate in percent per year, but ${id} is an exchange rate.`;
        return [{ severity, code: 'VALUE_TYPE_MISMATCH', path, message, value: id }];
      }
      // The run refuses values that it cannot use.
      const invalidRate = severity === 'error' ? undefined : findInvalidRate(priceSeries);
      if (invalidRate === undefined) return [];
      return [
        { severity, code: 'OUT_OF_RANGE', path, message: describeRateBeyond(invalidRate), value: invalidRate.value },
      ];
    });
}

const isPair = (id: string): boolean => parsePair(id)?.every(isCurrency) === true;

/**
 * Reports rates whose stated currency differs from the currency for which the overlay uses them. It is an error if the
 * overlay also has a rate for the stated currency, because the two are then swapped. Any other currency may be
 * intended, as for a pegged currency.
 */
function findOtherCurrencies(document: OverlayDocument, { market, indexOf, severity }: OverlayMarket): Finding[] {
  const underlyingCurrency = indexOf(listSources(document)[0]!)?.currency ?? null;
  const usedSeries = findOverlayType(document.overlay)
    .series(document.overlay)
    .flatMap(({ path, series: id, currency }) => {
      const neededCurrency = currency === null ? underlyingCurrency : (currency ?? null);
      return neededCurrency === null ? [] : [{ path, id, needed: findMajorUnit(neededCurrency) }];
    });
  return usedSeries.flatMap(({ path, id, needed }): Finding[] => {
    const report = market.series?.get(id)?.currency ?? null;
    if (report === null || findMajorUnit(report) === needed) return [];
    const isSwapped = usedSeries.some((other) => other.needed === findMajorUnit(report));
    if (severity === 'error' && !isSwapped) return [];
    const message = `overlay.${path} must be the rate of ${needed}, but the series ${id} is in ${report}${isSwapped ? ', which has a separate field. Are the rates swapped?' : '.'}`;
    return [{ severity, code: 'CURRENCIES_DIFFER', path: `overlay.${path}`, message, value: id }];
  });
}

/**
 * Reports series and exchange rates that begin after a day on which an overlay needs them.
 * @param day first session of the overlay, or an earlier day
 */
export function findLateSeries(
  document: OverlayDocument,
  { market, indexOf, severity }: OverlayMarket,
  day: Day,
): Finding[] {
  const type = findOverlayType(document.overlay);
  const usedSeries = type.series(document.overlay).map(({ path, series: id }) => {
    return { path: `overlay.${path}`, what: `series ${id}`, id, first: market.series?.get(id)?.days[0] };
  });
  const pairs = listConvertedCurrencies(document, indexOf).map((from) => {
    const id = createPair(from, document.currency);
    const first = findFirstRateDay(market, from, document.currency);
    return { path: 'overlay.to', what: `exchange rate ${id}`, id, first };
  });
  return [...usedSeries, ...pairs].flatMap(({ path, what, id, first }): Finding[] => {
    if (first === undefined || first <= day) return [];
    const message = `The ${what} begins on ${formatDay(first)}, but the overlay ${document.id} needs it from ${formatDay(day)} on.`;
    return [{ severity, code: 'OUT_OF_RANGE', path, message, value: id }];
  });
}

/** Reports exchange rates that a market lacks for a conversion. */
function reportMissingPairs(document: OverlayDocument, { market, indexOf, severity }: OverlayMarket): Finding[] {
  const { id, currency } = document;
  const hasPair = (pair: string): boolean => market.series?.has(pair) === true || market.identifiers.includes(pair);
  return listConvertedCurrencies(document, indexOf).flatMap((from): Finding[] => {
    if (isRateAvailable(hasPair, from, currency)) return [];
    const pair = createPair(from, currency);
    const message = `The store has no exchange rate ${pair}, which the overlay ${id} needs.`;
    return [{ severity, code: 'FX_MISSING', path: 'overlay.to', message, value: pair }];
  });
}

/** Returns the currencies that an overlay converts into its own. */
export function listConvertedCurrencies(document: OverlayDocument, indexOf: IndexContext['indexOf']): string[] {
  const { overlay } = document;
  const type = findOverlayType(overlay);
  if (type.currency(overlay) === null || !type.converts) return [];
  const underlyingCurrencies = listSources(document).flatMap((source) => indexOf(source)?.currency ?? []);
  return [...new Set([...underlyingCurrencies, ...type.weighed(overlay)])];
}

/** Reports hedged currencies in which no security of the market is quoted. */
function reportUnquotedHedges(document: OverlayDocument, { market, indexOf, severity }: OverlayMarket): Finding[] {
  const { overlay } = document;
  const underlyingCurrencies = listSources(document).flatMap((source) => indexOf(source)?.currency ?? []);
  const quotedCurrencies = new Set([...listCurrencies(market), ...underlyingCurrencies].map(findMajorUnit));
  return findOverlayType(overlay)
    .weighed(overlay)
    .flatMap((code, k): Finding[] =>
      quotedCurrencies.has(findMajorUnit(code))
        ? []
        : [
            {
              severity,
              code: 'NO_EFFECT',
              path: `overlay.currencies[${k}]`,
              message: `overlay.currencies[${k}] hedges ${code}, but no security in the data is quoted in this currency. The currencies are ${[...quotedCurrencies].sort().join(', ')}.`,
              value: code,
            },
          ],
    );
}
