import type { Day } from '../../time/days.js';
import { readReference } from '../../market/market-data.js';
import type { SessionMarket } from '../../market/session-market.js';

/**
 * Names and sectors of a run's securities in the market on the last date of the run, [H] each. Null for a security
 * without the entry.
 */
export interface RunLabels {
  readonly names: readonly (string | null)[];
  readonly sectors: readonly (string | null)[];
}

/** Returns the labels of market columns on a day, as JSON bytes. */
export function readLabels(
  { identifiers, market: { reference } }: SessionMarket,
  columns: Int32Array,
  day: Day,
): Uint8Array {
  const readTexts = (field: string): (string | null)[] =>
    Array.from(columns, (column) => {
      const value = readReference(reference, identifiers[column]!, field, day);
      return value === null ? null : String(value);
    });
  return new TextEncoder().encode(
    JSON.stringify({ names: readTexts('NAME'), sectors: readTexts('SECTOR') } satisfies RunLabels),
  );
}
