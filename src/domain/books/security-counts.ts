import type { Day } from '../time/days.js';
import { createGrowingFloats, createGrowingIntegers, type GrowingNumbers } from '#base/memory/growing-numbers.js';
import { countTimeline, type CountTimeline } from './count-timeline.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Series } from '../datapoints/series.js';

/** Share counts that a book follows between reviews. */
export interface ShareChangeTerms {
  readonly counts: Series;
  /** Name of these counts in the market. */
  readonly key: string;
  /** Smallest change that applies on a day; Infinity if shares change only at reviews. */
  readonly thresholdOn: (day: Day) => number;
}

/**
 * Counts of securities, [n] each; NaN if unknown: the counts behind the index shares, and the latest counts in the
 * data.
 */
export interface SecurityCounts {
  readonly adopted: Float64Array;
  readonly latest: Float64Array;
}

/** Counts of the holdings of a book. */
export interface HeldCounts extends SecurityCounts {
  readonly columns: Int32Array;
}

/** Share counts of a book during its simulation, by slot, [H]. */
export interface CountState extends SecurityCounts {
  readonly terms: ShareChangeTerms;
  /** Memory for the counts of the holdings on a session. */
  readonly values: Float64Array;
  /** Changes in the data, if they are listed. */
  readonly timeline: CountTimeline | null;
  /**
   * True if `latest` is the latest count in the data for every holding. Only listed changes can then differ from it.
   */
  isSettled: boolean;
  /** Factors on holdings of the current session. */
  readonly factors: CountFactors;
  readonly changes: AdoptedChanges;
}

/** Factors on holdings by changes of share counts, by position, in the first `count` elements. */
export interface CountFactors {
  readonly places: Int32Array;
  readonly values: Float64Array;
  count: number;
}

/** Changes of share counts while they are recorded: see `ShareChanges`. */
interface AdoptedChanges {
  readonly session: GrowingNumbers<Int32Array>;
  readonly column: GrowingNumbers<Int32Array>;
  readonly before: GrowingNumbers<Float64Array>;
  readonly after: GrowingNumbers<Float64Array>;
  /** Session of the latest count; negative if there is none. */
  latest: number;
}

/** Changes of shares or float that a book adopted between reviews, by session, then security. */
export interface ShareChanges {
  /** Session of its date: it applied after the previous close. */
  readonly session: Int32Array;
  readonly column: Int32Array;
  /** Float-adjusted shares before the change, on the share basis of the session, and after it. */
  readonly before: Float64Array;
  readonly after: Float64Array;
}

interface CountedBook {
  readonly sm: SessionMarket;
  readonly from: number;
  readonly to: number;
  readonly shareChanges?: ShareChangeTerms | undefined;
}

export function openCounts({ sm, from, to, shareChanges: terms }: CountedBook, columns: Int32Array): CountState | null {
  if (terms === undefined) return null;
  const slots = columns.length;
  return {
    timeline: countTimeline({ sm, from, to, columns, counts: terms.counts, key: terms.key }),
    isSettled: false,
    terms,
    adopted: new Float64Array(slots).fill(Number.NaN),
    latest: new Float64Array(slots).fill(Number.NaN),
    values: new Float64Array(slots),
    factors: { places: new Int32Array(slots), values: new Float64Array(slots), count: 0 },
    changes: {
      session: createGrowingIntegers(),
      column: createGrowingIntegers(),
      before: createGrowingFloats(),
      after: createGrowingFloats(),
      latest: -1,
    },
  };
}

/** Returns the changes that a book adopted; undefined if it follows no share counts. */
export function listAdoptedChanges({ shareCounts }: Pick<Counted, 'shareCounts'>): ShareChanges | undefined {
  if (shareCounts === null) return undefined;
  const { session, column, before, after } = shareCounts.changes;
  return { session: session.values(), column: column.values(), before: before.values(), after: after.values() };
}

/** Part of a book that has share counts. */
interface Counted {
  readonly shareCounts: CountState | null;
  readonly columns: Int32Array;
  /** Held slots, in the first `count` positions. */
  readonly held: Int32Array;
  readonly count: number;
}

/** Forgets the counts of a security that left. */
export function forgetCounts({ shareCounts: counts }: Counted, slot: number): void {
  if (counts === null) return;
  counts.adopted[slot] = Number.NaN;
  counts.latest[slot] = Number.NaN;
}

/** Returns the counts of the holdings. */
export function selectHeldCounts({ shareCounts: counts, columns, held, count }: Counted): HeldCounts | undefined {
  if (counts === null) return undefined;
  const of = (values: Float64Array): Float64Array => Float64Array.from({ length: count }, (_, k) => values[held[k]!]!);
  return {
    columns: Int32Array.from({ length: count }, (_, k) => columns[held[k]!]!),
    adopted: of(counts.adopted),
    latest: of(counts.latest),
  };
}
