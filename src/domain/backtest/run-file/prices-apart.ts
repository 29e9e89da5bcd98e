import type { MadeBytes } from '#base/memory/made-bytes.js';

/** Name that the header of a whole run has for the file with its prices. */
export const PRICES = 'prices';

/** Least bytes of prices that lie in a file of their own: smaller ones cost less than a file. */
export const APART_BYTES_MIN = 1 << 20;

/** The prices of a run, to lie in a file of their own, which runs of the same names and days share. */
export interface PricesApart extends MadeBytes {
  readonly identifiers: readonly string[];
  readonly days: Int32Array;
}

/**
 * Name of the file with the prices of a whole run, from that of its columns. So the columns do not say it, and are the
 * same bytes for every run that is the same.
 */
export function pricesFileOf(columns: string): string {
  const [digits = ''] = /^[0-9a-f]*/.exec(columns)!;
  const other = Array.from(digits, (digit) => (15 - Number.parseInt(digit, 16)).toString(16)).join('');
  return `${other}${columns.slice(digits.length)}`;
}

/** Name of a file that the header of columns names. */
export function fileBeside(columns: string, name: string): string {
  return name === PRICES ? pricesFileOf(columns) : name;
}

/** Name in the header of columns that a file has: `fileBeside` the other way round. */
export function nameInHeader(columns: string, file: string): string {
  return file === pricesFileOf(columns) ? PRICES : file;
}
