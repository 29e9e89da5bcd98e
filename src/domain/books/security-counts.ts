import type { Day } from '../time/days.js';
import { createGrowingFloats, createGrowingIntegers, type GrowingNumbers } from '#base/memory/growing-numbers.js';
import { findCountTimeline, type CountTimeline } from './count-timeline.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Series } from '../datapoints/series.js';

/** Terms on which a book follows share counts between reviews. */
export interface ShareChangeTerms {
  readonly counts: Series;
  /** Key of the count series within a market. */
  readonly key: string;
  /**
   * Returns the smallest relative change that is adopted on a day. Returns Infinity if shares change only at reviews.
   */
  readonly thresholdOn: (day: Day) => number;
}

/**
 * Share counts of securities, NaN if unknown, [n] each. Index shares use `adopted`; `latest` are the latest counts in
 * the data.
 */
export interface SecurityCounts {
  readonly adopted: Float64Array;
  readonly latest: Float64Array;
}

/** Share counts of the holdings of a book. */
export interface HoldingCounts extends SecurityCounts {
  readonly columns: Int32Array;
}

/** Share counts of a book during its simulation, by slot, [H]. */
export interface CountState extends SecurityCounts {
  readonly terms: ShareChangeTerms;
  /** Scratch memory for the counts of the holdings on a session. */
  readonly values: Float64Array;
  /** Changes in the data; null if they are not listed. */
  readonly timeline: CountTimeline | null;
  /** True if `latest` is the latest count in the data for every holding. Only listed changes can then change it. */
  isSettled: boolean;
  /** Factors on the holdings of the current session. */
  readonly factors: CountFactors;
  readonly changes: AdoptedChanges;
}

/** Factors on holdings from share-count changes, by position; only the first `count` elements are used. */
export interface CountFactors {
  readonly places: Int32Array;
  readonly values: Float64Array;
  count: number;
}

/** Recorded share-count changes, in the form of `ShareChanges`. */
interface AdoptedChanges {
  readonly session: GrowingNumbers<Int32Array>;
  readonly column: GrowingNumbers<Int32Array>;
  readonly before: GrowingNumbers<Float64Array>;
  readonly after: GrowingNumbers<Float64Array>;
  /** Session of the latest adopted change; negative if there is none. */
  latest: number;
}

/** Changes of shares or free float that a book adopted between reviews, by session, then security. */
export interface ShareChanges {
  /** Session of the change, which applied after the previous close. */
  readonly session: Int32Array;
  readonly column: Int32Array;
  /** Float-adjusted shares before and after the change, on the share basis of the session. */
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
  const slotCount = columns.length;
  return {
    timeline: findCountTimeline({ sm, from, to, columns, counts: terms.counts, key: terms.key }),
    isSettled: false,
    terms,
    adopted: new Float64Array(slotCount).fill(Number.NaN),
    latest: new Float64Array(slotCount).fill(Number.NaN),
    values: new Float64Array(slotCount),
    factors: { places: new Int32Array(slotCount), values: new Float64Array(slotCount), count: 0 },
    changes: {
      session: createGrowingIntegers(),
      column: createGrowingIntegers(),
      before: createGrowingFloats(),
      after: createGrowingFloats(),
      latest: -1,
    },
  };
}

/** Returns the changes that a book adopted. Returns undefined if the book follows no share counts. */
export function listAdoptedChanges({ shareCounts }: Pick<CountedState, 'shareCounts'>): ShareChanges | undefined {
  if (shareCounts === null) return undefined;
  const { session, column, before, after } = shareCounts.changes;
  return { session: session.values(), column: column.values(), before: before.values(), after: after.values() };
}

/** Part of a book's state that contains share counts. */
interface CountedState {
  readonly shareCounts: CountState | null;
  readonly columns: Int32Array;
  /** Held slots; only the first `count` elements are used. */
  readonly heldSlots: Int32Array;
  readonly count: number;
}

/** Clears the counts of a security that left. */
export function clearCounts({ shareCounts: counts }: CountedState, slot: number): void {
  if (counts === null) return;
  counts.adopted[slot] = Number.NaN;
  counts.latest[slot] = Number.NaN;
}

/** Returns the counts of the holdings. Returns undefined if the book follows no share counts. */
export function selectHoldingCounts({
  shareCounts: counts,
  columns,
  heldSlots,
  count,
}: CountedState): HoldingCounts | undefined {
  if (counts === null) return undefined;
  const selectHeld = (values: Float64Array): Float64Array =>
    Float64Array.from({ length: count }, (_, k) => values[heldSlots[k]!]!);
  return {
    columns: Int32Array.from({ length: count }, (_, k) => columns[heldSlots[k]!]!),
    adopted: selectHeld(counts.adopted),
    latest: selectHeld(counts.latest),
  };
}
