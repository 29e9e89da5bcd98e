import type { Finding, Severity } from '../base/findings.js';
import { findFirstAtLeast } from '../base/numbers.js';
import { addMonths, type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Calendars } from '../calendars/calendar.js';
import {
  createPair,
  describeRateBeyond,
  findFirstRateDay,
  findInvalidRate,
  findMajorUnit,
  isCurrency,
  isRateAvailable,
  listPairs,
  parsePair,
} from '../market/rates.js';
import { describeWithoutRate, listValuesWithoutRate } from '../market/action-effects.js';
import { createReferenceSpells, isBlank, type MarketData, type ReferenceSpell } from '../market/market-data.js';
import {
  findListedIdentifiers,
  type IndexContext,
  type IndexDocument,
  isOverlayDocument,
  isRuleDocument,
  listSources,
  type OverlayDocument,
  type RuleDocument,
} from './index-document.js';
import { findOverlayType } from './overlays.js';

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

const listQuotedCurrencies = (market: MarketData): string[] => [...groupByCurrency(market).keys()];

/** Returns the currencies in which securities of a market are quoted, including the currency of the store. */
const listCurrencies = (market: MarketData): string[] => [
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

/** Values of a new index on a market. */
export interface IndexDefaults {
  /** Only currency of the securities, otherwise the currency that the store declares; null if there is neither. */
  readonly currency: string | null;
  /** Calendar of the only exchange of the securities; null if there are several exchanges or none. */
  readonly calendar: string | null;
  /** Day one year after the start of the market, so that rules have history; null without data. */
  readonly base_date: string | null;
}

/** Returns the values of a new index on a market. @cost O(rows of the reference table) on the first call */
export function findIndexDefaults(market: MarketData, calendars: Pick<Calendars, 'list'>): IndexDefaults {
  return {
    currency: findStoreCurrency(market),
    calendar: findStoreCalendar(market, calendars),
    base_date: market.dates.length === 0 ? null : findFirstBaseDate(market),
  };
}

function findStoreCurrency(market: MarketData): string | null {
  const currencies = new Set(listQuotedCurrencies(market).map(findMajorUnit));
  const [only] = currencies;
  const currency = currencies.size === 1 ? only : market.currency;
  return currency == null || !isCurrency(currency) ? null : findMajorUnit(currency);
}

function findStoreCalendar(market: MarketData, calendars: Pick<Calendars, 'list'>): string | null {
  const exchanges = new Set<unknown>();
  for (const spells of createReferenceSpells(market, 'EXCHANGE'))
    for (const { value } of spells) if (value !== null && value !== '') exchanges.add(value);
  const [only] = exchanges;
  return exchanges.size === 1 ? (calendars.list().find(({ code }) => code === only)?.code ?? null) : null;
}

/** Months between the start of a store and a base date. Rules then have one year of history. */
const HISTORY_MONTHS = 12;

/** Returns the day one year after the start of a market. If the market is shorter, returns its first day. */
export function findFirstBaseDate({ dates }: Pick<MarketData, 'dates'>): string {
  const [first = 0, last = 0] = [dates[0], dates.at(-1)];
  const later = addMonths(first, HISTORY_MONTHS);
  return formatDay(later < last ? later : first);
}

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
function findLateSeries(document: OverlayDocument, { market, indexOf, severity }: OverlayMarket, day: Day): Finding[] {
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

export function listConvertedCurrencies(document: OverlayDocument, indexOf: IndexContext['indexOf']): string[] {
  const { overlay } = document;
  const type = findOverlayType(overlay);
  if (type.currency(overlay) === null || !type.converts) return [];
  const underlyingCurrencies = listSources(document).flatMap((source) => indexOf(source)?.currency ?? []);
  return [...new Set([...underlyingCurrencies, ...type.weighed(overlay)])];
}

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

interface ReachedDocuments {
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly market: MarketData;
  readonly calendars: Pick<Calendars, 'get'>;
}

/**
 * Reports data that begin after the first session of an overlay that needs them. Reports nothing if only a run can
 * determine that session.
 */
export function findLateRates(indexId: string, reached: ReachedDocuments): Finding[] {
  const { documents, market } = reached;
  const document = documents[indexId];
  const day = document !== undefined && isOverlayDocument(document) ? findBeginLimit(indexId, reached) : undefined;
  if (day === undefined) return [];
  return findLateSeries(
    document as OverlayDocument,
    { market, severity: 'error', indexOf: (id) => documents[id] },
    day,
  ); // The document was checked above.
}

/**
 * Returns a day by which an index has certainly begun. For a universe of all or of listed securities, this is the first
 * session on or after the base date with a price bar of one of them. For an overlay, it is the first session on which
 * all underlying indices have begun. Returns undefined if only a run can determine the day.
 * @cost O(securities) for each earlier row
 */
function findBeginLimit(indexId: string, reached: ReachedDocuments): Day | undefined {
  const document = reached.documents[indexId];
  const calendar = document && reached.calendars.get(document.calendar);
  if (document === undefined || calendar === undefined) return undefined;
  const base = parseValidDay(document.base_date);
  if (isRuleDocument(document)) return findFirstPriced(document, base, { ...reached, isSession: calendar.isSession });
  if (!isOverlayDocument(document)) return undefined;
  const underlyingLimits = listSources(document).map((id) => findBeginLimit(id, reached));
  if (underlyingLimits.some((day) => day === undefined)) return undefined;
  const from = Math.max(base, ...(underlyingLimits as Day[])); // The calendar was checked above.
  return calendar.sessions[findFirstAtLeast(calendar.sessions, from)];
}

function findFirstPriced(
  document: IndexDocument,
  base: Day,
  { market, isSession }: ReachedDocuments & { readonly isSession: (day: Day) => boolean },
): Day | undefined {
  const kind = document.universe?.kind ?? 'all';
  const listedIdentifiers = findListedIdentifiers(document.universe);
  if (listedIdentifiers === undefined && kind !== 'all') return undefined;
  const { dates, identifiers, fields, reference } = market;
  const names = new Set(
    listedIdentifiers ?? identifiers.filter((name) => reference.rows.has(name) || !PAIR.test(name)),
  );
  const columns = identifiers.flatMap((name, column) => (names.has(name) ? [column] : []));
  const close = fields.get('CLOSE')!;
  for (let row = findFirstAtLeast(dates, base); row < dates.length; row++)
    if (isSession(dates[row]!) && columns.some((column) => !Number.isNaN(close[row * identifiers.length + column]!)))
      return dates[row];
  return undefined;
}

/** Form of an exchange rate; such identifiers are not constituents. */
const PAIR = /^[A-Z]{6}$/;

const TAX_PATH = 'pipeline.treatment.withholding_tax';

/**
 * Reports values of the tax field that have no rate. Checks the securities of the universe, by default all securities.
 */
export function checkWithholding(document: RuleDocument, market: MarketData, severity: Severity): Finding[] {
  const { withholding_tax: tax } = document.pipeline.treatment;
  if (typeof tax === 'number') return [];
  const { columns: accepted } = market.reference;
  if (!accepted.includes(tax.field))
    return [
      {
        severity,
        code: 'UNKNOWN_FIELD_NAME',
        path: `${TAX_PATH}.field`,
        message: `The store has no reference column ${tax.field}; it has ${accepted.join(', ') || 'none'}.`,
        accepted,
        value: tax.field,
      },
    ];
  const list = findListedIdentifiers(document.universe);
  const listedIdentifiers = list && new Set(list);
  const isTaxed = (identifier: string): boolean => listedIdentifiers === undefined || listedIdentifiers.has(identifier);
  const columns = [...market.identifiers.keys()].filter((column) => isTaxed(market.identifiers[column]!));
  const values = listValuesWithoutRate(market, tax, {
    columns: list === undefined ? selectWithReference(market, columns) : columns,
  });
  if (values.length === 0) return [];
  return [
    { severity, code: 'NO_RATE', path: TAX_PATH, message: `${describeWithoutRate(tax, values)}.`, value: values },
  ];
}

/** Returns the columns with reference rows. Exchange rates have none. */
function selectWithReference({ identifiers, reference }: MarketData, columns: readonly number[]): number[] {
  return columns.filter((column) => reference.rows.has(identifiers[column]!));
}
