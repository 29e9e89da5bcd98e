import type { StoredRebalance } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';

/** One rebalance of a stored run. */
export interface RebalanceFigures {
  readonly date: string;
  readonly constituents: number;
  /** Names that joined and left; null for the first composition of the run. */
  readonly added: number | null;
  readonly removed: number | null;
  readonly largest: number;
  readonly cap: number | null;
  readonly capped: number;
  readonly redistributed: number;
  /**
   * One-way turnover of the portfolio against the weights it had drifted to; null where it bought for the first time.
   */
  readonly turnover: number | null;
}

/** @cost reads a few rows of [H] */
export function rebalanceFigures(
  columns: RunColumns,
  r: number,
  { date, at, cap, redistributed }: StoredRebalance,
): RebalanceFigures {
  const H = columns.header.names.length;
  const targets = columns.f64('targets', r * H, (r + 1) * H);
  const before = r === 0 ? null : columns.f64('targets', (r - 1) * H, r * H);
  const capped = columns.u8('capped', r * H, (r + 1) * H);
  let constituents = 0;
  let added = 0;
  let removed = 0;
  let largest = 0;
  let atCap = 0;
  for (let i = 0; i < H; i++) {
    const isHeld = targets[i] !== 0;
    const wasHeld = before !== null && before[i] !== 0;
    if (isHeld) constituents++;
    if (isHeld && !wasHeld) added++;
    if (wasHeld && !isHeld) removed++;
    largest = Math.max(largest, Math.abs(targets[i]!));
    atCap += capped[i]!;
  }
  return {
    date,
    constituents,
    largest,
    cap,
    capped: atCap,
    redistributed,
    added: before === null ? null : added,
    removed: before === null ? null : removed,
    turnover: at <= 0 ? null : turnoverAt(columns, at, targets),
  };
}

/** Half the sum of moves from the weights before the trades of a session. */
function turnoverAt(columns: RunColumns, at: number, targets: Float64Array): number | null {
  const H = columns.header.names.length;
  const event = columns.i32('eventAt').indexOf(at);
  if (event < 0) return null;
  const before = columns.f64('before', event * H, (event + 1) * H);
  let total = 0;
  for (let i = 0; i < H; i++) total += Math.abs(targets[i]! - before[i]!);
  return total / 2;
}
