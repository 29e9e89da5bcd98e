import type { Book } from '../../books/book.js';
import type { AppendedSessions, BlockReader, BlockFiller } from './block.js';
import { countSessionsBefore } from './effects.js';
import type { ForeignRates } from './foreign-rates.js';

/** Returns the exchange rates of a whole run, [F x T]. Returns null without foreign securities. */
export function listWholeRates(
  { rows }: ForeignRates,
  { from, length }: Pick<Book, 'from' | 'length'>,
): BlockFiller<Float64Array> | null {
  if (rows.length === 0) return null;
  return {
    length: rows.length * length,
    writeTo(into) {
      rows.forEach((series, row) => into.set(series.subarray(from, from + length), row * length));
    },
  };
}

/**
 * Returns the exchange rates of an extended run on stored and new sessions, [F x T]. Returns null without foreign
 * securities.
 */
export function listAppendedRates(source: AppendedSessions): Float64Array | null {
  const { from } = countSessionsBefore(source);
  const filling = listWholeRates(source.rates, { from, length: source.days.length });
  if (filling === null) return null;
  const rates = new Float64Array(filling.length);
  filling.writeTo(rates);
  return rates;
}

/**
 * Returns one row of rates per foreign security, [securities x T]. Version 0.1.0 stored rates in this form, not one row
 * per currency.
 */
export function repeatRatesBySecurity(columns: BlockReader): Float64Array {
  const { foreign, dates } = columns.header;
  const values = columns.f64('rates');
  const rows = Object.values(foreign);
  const sortedValues = new Float64Array(rows.length * dates);
  rows.forEach((row, i) => sortedValues.set(values.subarray(row * dates, (row + 1) * dates), i * dates));
  return sortedValues;
}
