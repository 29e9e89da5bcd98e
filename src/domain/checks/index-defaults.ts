import type { Calendars } from '../calendars/calendar.js';
import { findMajorUnit, isCurrency } from '../market/currency-codes.js';
import type { MarketData } from '../market/market-data.js';
import { createReferenceSpells } from '../market/reference-spells.js';
import { addMonths, formatDay } from '../time/days.js';
import { listQuotedCurrencies } from './required-rates.js';

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
