import { measureDrift } from '#domain/analytics/concentration.js';
import type { RebalanceCause } from '#domain/schedule/rebalance-causes.js';
import type { StoredRebalance } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { findLastAtMost } from '#domain/numbers/search.js';

/** Weights before and after a rebalance, [H] each. */
export interface WeightsAround {
  readonly target: Float64Array;
  readonly capped: Uint8Array;
  /** Drifted weights before the trades. Null for a composition that was already valid before the run. */
  readonly before: Float64Array | null;
  /** Weights after the close; the target weights if there is no close. */
  readonly after: Float64Array;
}

/** Returns a function that reads the weights before and after a rebalance, by position of the rebalance. */
export function createWeightsReader(columns: RunColumns): (r: number) => WeightsAround {
  const { header } = columns;
  const H = header.names.length;
  const eventAt = columns.i32('eventAt');
  const getRowAt = (block: 'targets' | 'before' | 'weights', row: number) => columns.f64(block, row * H, (row + 1) * H);
  return (r) => {
    const { at } = header.rebalances[r]!;
    const target = getRowAt('targets', r);
    const event = findLastAtMost(eventAt, at);
    const isEvent = event >= 0 && eventAt[event] === at;
    return {
      target,
      capped: columns.u8('capped', r * H, (r + 1) * H),
      before: at < 0 ? null : isEvent ? getRowAt('before', event) : getRowAt('weights', at),
      after: at < 0 ? target : getRowAt('weights', at),
    };
  };
}

/** Figures of a rebalance of a stored run. Views, exports and reports use them. */
export interface RebalanceFigures {
  readonly date: string;
  readonly cause: RebalanceCause;
  /** Number of securities with a positive weight; the next field is the number with any position. */
  readonly constituents: number;
  readonly grossConstituents: number;
  /**
   * Positions of the securities that were not held before the rebalance, the largest weight first. At the first
   * rebalance, these are all securities. The next field has the securities that are not held any more.
   */
  readonly added: readonly number[];
  readonly removed: readonly number[];
  readonly largest: number;
  readonly cap: number | null;
  readonly capped: number;
  readonly redistributed: number;
  /**
   * One-way turnover relative to the weights before the trades. Null until the portfolio has bought for the first time.
   */
  readonly turnover: number | null;
}

/**
 * Computes the figures of a rebalance.
 * @cost O(H)
 */
export function computeRebalanceFigures(
  { target, capped, before, after }: WeightsAround,
  { date, at, cause, cap, redistributed }: StoredRebalance,
): RebalanceFigures {
  let constituents = 0;
  let grossConstituents = 0;
  let largest = 0;
  let cappedCount = 0;
  for (let i = 0; i < target.length; i++) {
    const isHeld = target[i] !== 0;
    if (target[i]! > 0) constituents++;
    if (isHeld) grossConstituents++;
    largest = Math.max(largest, target[i]!);
    cappedCount += capped[i]!;
  }
  return {
    date,
    cause: cause ?? 'schedule',
    constituents,
    grossConstituents,
    ...findMemberChanges({ target, before }),
    largest,
    cap,
    capped: cappedCount,
    redistributed,
    turnover: before === null || at <= 0 ? null : measureDrift(after, before).turnover,
  };
}

/** Returns the positions of the added and of the removed securities, the largest absolute weight first. */
function findMemberChanges({
  target,
  before,
}: Pick<WeightsAround, 'target' | 'before'>): Pick<RebalanceFigures, 'added' | 'removed'> {
  const added: number[] = [];
  const removed: number[] = [];
  for (let i = 0; i < target.length; i++) {
    const isHeld = target[i] !== 0;
    const wasHeld = before !== null && before[i] !== 0;
    if (isHeld && !wasHeld) added.push(i);
    if (wasHeld && !isHeld) removed.push(i);
  }
  const sortBySize = (positions: readonly number[], weights: Float64Array) =>
    positions.toSorted((a, b) => Math.abs(weights[b]!) - Math.abs(weights[a]!));
  return { added: sortBySize(added, target), removed: before === null ? [] : sortBySize(removed, before) };
}
