import type { ProducedBytes } from '#base/memory/produced-bytes.js';

/** Name of the separate price file in the header of a whole run. */
export const PRICES_NAME = 'prices';

/** Minimum size in bytes of prices in a separate file. A smaller file costs more than it saves. */
export const SEPARATE_BYTES_MIN = 1 << 20;

/** Prices of a run in a separate file, which runs with equal securities, days and adjustments share. */
export interface SeparatePrices extends ProducedBytes {
  readonly identifiers: readonly string[];
  readonly days: Int32Array;
  /** Key of the terms that adjust bars between two sessions. Empty if there are no such bars. */
  readonly adjustedBy: string;
}

/**
 * Returns the name of the price file of a run. The name is derived from the name of the columns file, not stored in it,
 * so that equal runs have equal bytes.
 */
export function findPricesFile(columns: string): string {
  const [digits = ''] = /^[0-9a-f]*/.exec(columns)!;
  const invertedDigits = Array.from(digits, (digit) => (15 - Number.parseInt(digit, 16)).toString(16)).join('');
  return `${invertedDigits}${columns.slice(digits.length)}`;
}

/** Returns the full name of a file to which the header of a columns file refers. */
export function resolveSiblingFile(columns: string, name: string): string {
  return name === PRICES_NAME ? findPricesFile(columns) : name;
}

/**
 * Returns the name by which the header of a columns file refers to a file. This is the inverse of `resolveSiblingFile`.
 */
export function formatNameInHeader(columns: string, file: string): string {
  return file === findPricesFile(columns) ? PRICES_NAME : file;
}
