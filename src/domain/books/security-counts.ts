import type { Day } from '../time/days.js';
import type { Series } from '../datapoints/series.js';

/** Share counts that a book follows between reviews. */
export interface ShareChangeTerms {
  readonly counts: Series;
  /** Smallest change that applies on a day; Infinity where shares change at reviews alone. */
  readonly thresholdOn: (day: Day) => number;
}

/** Counts of securities: those that index shares stand for, and those of the data seen last, [n] each; NaN unknown. */
export interface SecurityCounts {
  readonly adopted: Float64Array;
  readonly latest: Float64Array;
}

/** The same of what a book holds. */
export interface HeldCounts extends SecurityCounts {
  readonly columns: Int32Array;
}

/** Share counts of a book while it is simulated, by slot, [H]. */
export interface CountState extends SecurityCounts {
  readonly terms: ShareChangeTerms;
  /** Memory for the counts of what is held on a session. */
  readonly values: Float64Array;
  readonly changes: ShareChange[];
}

/** A change of shares or float that a book took up between reviews. */
export interface ShareChange {
  /** Session of its date: it applied after the close before. */
  readonly session: number;
  readonly column: number;
  /** Float-adjusted shares before, on the share basis of the session, and after. */
  readonly before: number;
  readonly after: number;
}

export function openCounts(terms: ShareChangeTerms | undefined, slots: number): CountState | null {
  if (terms === undefined) return null;
  return {
    terms,
    adopted: new Float64Array(slots).fill(Number.NaN),
    latest: new Float64Array(slots).fill(Number.NaN),
    values: new Float64Array(slots),
    changes: [],
  };
}

/** What of a book has share counts. */
interface Counted {
  readonly shareCounts: CountState | null;
  readonly columns: Int32Array;
  /** Slots held, in the first `count` places. */
  readonly held: Int32Array;
  readonly count: number;
}

/** Forgets the counts of a security that left. */
export function forgetCounts({ shareCounts: counts }: Counted, slot: number): void {
  if (counts === null) return;
  counts.adopted[slot] = Number.NaN;
  counts.latest[slot] = Number.NaN;
}

/** Counts of what is held. */
export function heldCounts({ shareCounts: counts, columns, held, count }: Counted): HeldCounts | undefined {
  if (counts === null) return undefined;
  const of = (values: Float64Array): Float64Array => Float64Array.from({ length: count }, (_, k) => values[held[k]!]!);
  return {
    columns: Int32Array.from({ length: count }, (_, k) => columns[held[k]!]!),
    adopted: of(counts.adopted),
    latest: of(counts.latest),
  };
}
