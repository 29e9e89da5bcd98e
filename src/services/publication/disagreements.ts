import type { PublicationEntry } from '#domain/documents/publication-document.js';

/** Closes of an index according to a run: arrays of one length, by date, in index points. */
export interface Closes {
  /** YYYY-MM-DD, ascending. */
  readonly dates: readonly string[];
  readonly price: readonly (number | null)[];
  readonly total: readonly (number | null)[];
  readonly net: readonly (number | null)[];
  readonly divisor: readonly (number | null)[];
  readonly composition_hash: readonly string[];
  /** Names held at each close, and those of them without a bar on the date. */
  readonly held: readonly number[];
  readonly without_bar: readonly number[];
}

/** A date on which a run differs from the published entry in force. */
export interface Disagreement {
  readonly date: string;
  /** Position of the date in the run; null where the run has no such session. */
  readonly position: number | null;
}

const COMPARED = ['price', 'total', 'net', 'divisor', 'composition_hash'] as const;

/**
 * Dates, ascending, on which a run and the published entries in force differ in any bit, within the range that both
 * cover: from the later of the two first dates to the earlier of the two last ones.
 * @param standing entries by date
 */
export function disagreementsOf(closes: Closes, standing: ReadonlyMap<string, PublicationEntry>): Disagreement[] {
  const published = [...standing.keys()].toSorted();
  const [first, last] = [closes.dates[0], closes.dates.at(-1)];
  if (first === undefined || last === undefined || published.length === 0) return [];
  const from = first > published[0]! ? first : published[0]!;
  const to = last < published.at(-1)! ? last : published.at(-1)!;
  const positions = new Map(closes.dates.map((date, i) => [date, i]));
  return [...new Set([...published, ...closes.dates])]
    .filter((date) => date >= from && date <= to)
    .toSorted()
    .flatMap((date) => {
      const position = positions.get(date) ?? null;
      const entry = standing.get(date);
      const isSame =
        position !== null &&
        entry !== undefined &&
        COMPARED.every((member) => Object.is(closes[member][position], entry[member]));
      return isSame ? [] : [{ date, position }];
    });
}
