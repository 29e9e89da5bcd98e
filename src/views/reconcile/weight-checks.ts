import { drift } from '#domain/analytics/concentration.js';
import type { RunColumns } from '#domain/backtest/run-columns.js';
import { heldWeights } from '../weights-view.js';
import { check, furthest, type Check } from './check.js';

/** Rows of the panel read at a time. */
const PART_ROWS = 256;

/** The weights panel, and what the weights view tells of its last row. @cost reads every weight of the run */
export function weightChecks(columns: RunColumns): Check[] {
  const { dates } = columns.header;
  const H = columns.header.names.length;
  const cash = columns.f64('cash');
  const sums = furthest();
  for (let row = 0; row < dates; row += PART_ROWS) {
    const end = Math.min(dates, row + PART_ROWS);
    const weights = columns.f64('weights', row * H, end * H);
    for (let t = row; t < end; t++) {
      let sum = cash[t]!;
      for (let at = (t - row) * H; at < (t - row + 1) * H; at++) sum += weights[at]!;
      sums.note(sum, 1);
    }
  }
  return [check({ name: 'weights', meaning: 'Weights and cash of every date sum to 1; the left side is the sum furthest from it.', ...sums.sides() }), ...driftChecks(columns)];
}

/** A portfolio in cash may move into it: then the moves do not cancel. */
function driftChecks(columns: RunColumns): Check[] {
  const { held, target } = heldWeights(columns, null);
  const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
  const moved = held.reduce((total, weight, i) => total + weight - target[i]!, 0);
  const absolute = held.reduce((total, weight, i) => total + Math.abs(weight - target[i]!), 0);
  return [
    check({ name: 'moves since the last rebalance', meaning: 'Moves of the weights since the last rebalance sum to what moved into or out of cash.', left: moved, right: sum(held) - sum(target) }),
    check({ name: 'turnover since the last rebalance', meaning: 'One-way turnover is half the sum of the moves.', left: absolute / 2, right: drift(held, target).turnover }),
  ];
}
