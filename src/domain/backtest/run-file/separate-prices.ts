import type { MadeBytes } from '#base/memory/made-bytes.js';

/** Name of the file with the prices in the header of a whole run. */
export const PRICES = 'prices';

/** Minimum size of prices in a separate file. For fewer bytes, the file costs more than it saves. */
export const APART_BYTES_MIN = 1 << 20;

/** Prices of a run in a separate file, shared by runs with the same securities and days. */
export interface SeparatePrices extends MadeBytes {
  readonly identifiers: readonly string[];
  readonly days: Int32Array;
}

/**
 * Returns the name of the file with the prices of a run, derived from the name of its columns. The columns do not
 * contain the name, so equal runs have equal bytes.
 */
export function findPricesFile(columns: string): string {
  const [digits = ''] = /^[0-9a-f]*/.exec(columns)!;
  const other = Array.from(digits, (digit) => (15 - Number.parseInt(digit, 16)).toString(16)).join('');
  return `${other}${columns.slice(digits.length)}`;
}

/** Returns the name of a file that the header of columns refers to. */
export function resolveSiblingFile(columns: string, name: string): string {
  return name === PRICES ? findPricesFile(columns) : name;
}

/** Returns the name of a file in the header of columns: the inverse of `resolveSiblingFile`. */
export function nameInHeader(columns: string, file: string): string {
  return file === findPricesFile(columns) ? PRICES : file;
}
