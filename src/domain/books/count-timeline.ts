import { createGrowingFloats, createGrowingIntegers } from '#base/memory/growing-numbers.js';
import type { Series } from '../datapoints/series.js';
import type { SessionMarket } from '../market/session-market.js';
import { isEqual } from '../numbers/number-types.js';

/** Share-count changes of a book's securities, by session, then slot. */
export interface CountTimeline {
  /** Index of the first change of each session, counted from the first session of the book, [T + 1]. */
  readonly starts: Int32Array;
  readonly slots: Int32Array;
  /** Share counts after the changes. */
  readonly values: Float64Array;
}

interface CountedSeries {
  readonly sm: SessionMarket;
  readonly counts: Series;
  /** Key of the count series within a market. */
  readonly key: string;
  readonly columns: Int32Array;
  /** First and last session. */
  readonly from: number;
  readonly to: number;
}

/** Minimum number of sessions for a list of changes. For shorter books every count is compared on every session. */
const SESSIONS_MIN = 64;

/**
 * Maximum number of changes as a fraction of all counts. With more changes, comparing all counts is as fast as reading
 * a list.
 */
const CHANGES_MAX = 1 / 8;

interface CachedTimeline extends Pick<CountedSeries, 'columns' | 'from' | 'to'> {
  readonly timeline: CountTimeline | null;
}

/** Latest change list for each kind of count. All books of one index have equal securities and share the list. */
const timelineCache = new WeakMap<SessionMarket, Map<string, CachedTimeline>>();

/**
 * Lists the share-count changes over the sessions of a book. Returns null if there are too many changes or too few
 * sessions.
 * @cost O(T H), once
 */
export function findCountTimeline(counted: CountedSeries): CountTimeline | null {
  const { sm, key, columns, from, to } = counted;
  if (to - from < SESSIONS_MIN) return null;
  let lists = timelineCache.get(sm);
  if (lists === undefined) timelineCache.set(sm, (lists = new Map()));
  const cachedTimeline = lists.get(key);
  if (cachedTimeline?.from === from && cachedTimeline.to === to && isEqual(cachedTimeline.columns, columns))
    return cachedTimeline.timeline;
  const timeline = listChanges(counted);
  lists.set(key, { columns, from, to, timeline });
  return timeline;
}

function listChanges({ counts, columns, from, to }: CountedSeries): CountTimeline | null {
  const H = columns.length;
  const largestCount = CHANGES_MAX * H * (to - from);
  const starts = new Int32Array(to - from + 2);
  const slots = createGrowingIntegers();
  const values = createGrowingFloats();
  const row = new Float64Array(H);
  const statedCounts = new Float64Array(H).fill(Number.NaN);
  for (let session = from; session <= to; session++) {
    counts.fill(session, columns, row);
    for (let slot = 0; slot < H; slot++) {
      const value = row[slot]!;
      if (value === statedCounts[slot] || !(value > 0)) continue;
      statedCounts[slot] = value;
      if (session === from) continue;
      slots.push(slot);
      values.push(value);
    }
    if (slots.length > largestCount) return null;
    starts[session - from + 1] = slots.length;
  }
  return { starts, slots: slots.values(), values: values.values() };
}
