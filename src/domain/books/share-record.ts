import { createGrowingFloats, createGrowingIntegers, type GrowingNumbers } from '#base/memory/growing-numbers.js';
import type { ReturnVariant } from '../market/market-data.js';

/**
 * Level that a book stated for its market value when its holdings last changed. The quotient of market value and divisor
 * can differ from it in the last digit.
 */
export interface StatedLevel {
  readonly marketValue: number;
  readonly divisor: number;
  readonly level: number;
}

/** Returns the price return level. Without a move of any price it is exactly the stated level. */
export const computePriceLevel = (stated: StatedLevel, marketValue: number, divisor: number): number =>
  marketValue === stated.marketValue && divisor === stated.divisor ? stated.level : marketValue / divisor;

/** Levels of a book with index shares at a close. */
export interface LevelsAtClose extends Readonly<Record<ReturnVariant, number>> {
  readonly stated: StatedLevel;
  /** Growth by reinvested dividends since the first session, before and after tax. */
  readonly reinvested: Readonly<Record<'total' | 'net', number>>;
}

/** Levels and dividend points of an index, [T] each. */
export interface ReinvestedLevels {
  readonly levels: Readonly<Record<ReturnVariant, Float64Array>>;
  /** Ordinary dividends in points of the price return, before and after tax. */
  readonly points: Float64Array;
  readonly netPoints: Float64Array;
}

/** Moments of a session at which index shares change. */
export const SHARE_MOMENTS = {
  /** Before the session grows: splits, rights issues and changes of share counts. */
  opening: 0,
  /** At the close: reinvested special dividends, and spun-off securities with their first price. */
  close: 1,
  /** After the exits and trades of the close. */
  after: 2,
} as const;

export type ShareMoment = keyof typeof SHARE_MOMENTS;

const MOMENT_COUNT = Object.keys(SHARE_MOMENTS).length;

/** Returns a number that orders the moments of all sessions. */
export const toShareTime = (at: number, moment: ShareMoment): number => MOMENT_COUNT * at + SHARE_MOMENTS[moment];

/** Index shares of a book: each change with the number of shares after it, in order. */
export interface ShareRecord {
  /** Moment of each change, as `toShareTime` of the session index from the first session of the book. */
  readonly time: Int32Array;
  readonly slot: Int32Array;
  /** Number of shares after the change; 0 for a security that left. */
  readonly shares: Float64Array;
}

export interface ShareRecorder {
  readonly time: GrowingNumbers<Int32Array>;
  readonly slot: GrowingNumbers<Int32Array>;
  readonly shares: GrowingNumbers<Float64Array>;
  /** Latest recorded numbers of shares by slot, [H]. */
  readonly latest: Float64Array;
}

/** Returns a recorder of index shares. Returns null for a book that is not an index, or of which only levels are used. */
export function createShareRecorder(
  { fills, isBrief }: { readonly fills: string; readonly isBrief?: boolean },
  slotCount: number,
): ShareRecorder | null {
  if (fills !== 'all' || isBrief === true) return null;
  return {
    time: createGrowingIntegers(),
    slot: createGrowingIntegers(),
    shares: createGrowingFloats(),
    latest: new Float64Array(slotCount),
  };
}

/** Records a number of index shares if it has changed. */
export function recordShares({ latest, ...changes }: ShareRecorder, time: number, slot: number, shares: number): void {
  if (latest[slot] === shares) return;
  latest[slot] = shares;
  changes.time.push(time);
  changes.slot.push(slot);
  changes.shares.push(shares);
}

/** Returns a function that reads the index shares at moments, by slot. Moments in ascending order are read once. */
export function createShareReader(
  { time, slot, shares }: ShareRecord,
  slotCount: number,
): (until: number) => Readonly<Float64Array> {
  const held = new Float64Array(slotCount);
  let next = 0;
  let last = -1;
  return (until) => {
    if (until < last) {
      held.fill(0);
      next = 0;
    }
    last = until;
    for (; next < time.length && time[next]! <= until; next++) held[slot[next]!] = shares[next]!;
    return held;
  };
}

export const finishShareRecord = ({ time, slot, shares }: ShareRecorder): ShareRecord => ({
  time: time.values(),
  slot: slot.values(),
  shares: shares.values(),
});
