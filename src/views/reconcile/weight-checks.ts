import { drift } from '#domain/analytics/concentration.js';
import type { RunColumns } from '#domain/backtest/run-columns.js';
import { growthStep, type SessionEffect } from '#domain/market/growth.js';
import { runEffects } from '../run-effects.js';
import { heldWeights } from '../weights-view.js';
import { check, furthest, type Check } from './check.js';

/** Rows of the panels read at a time. */
const PART_ROWS = 256;

/** The weights panel: its sums, and how each row follows from the one before. @cost reads every weight and price of the run */
export function weightChecks(columns: RunColumns): Check[] {
  const { dates } = columns.header;
  const H = columns.header.names.length;
  const cash = columns.f64('cash');
  const gross = columns.f64('gross');
  const breaks = columns.has('breaks') ? columns.u8('breaks') : null; // Absent from runs of version 0.1.0.
  const growth = growthRows(columns);
  const sums = furthest();
  const drifts = furthest();
  const previous = new Float64Array(H);
  for (let row = 0; row < dates; row += PART_ROWS) {
    const end = Math.min(dates, row + PART_ROWS);
    const weights = columns.f64('weights', row * H, end * H);
    const prices = columns.f64('price', row * H, end * H);
    for (let t = row; t < end; t++) {
      const at = (t - row) * H;
      const factors = growth(t, prices.subarray(at, at + H));
      let sum = cash[t]!;
      for (let i = 0; i < H; i++) sum += weights[at + i]!;
      sums.note(sum, 1);
      if (t > 0 && breaks?.[t] === 0) {
        for (let i = 0; i < H; i++) {
          const factor = factors[i]!;
          if (previous[i]! > 0 && factor === factor) drifts.note((previous[i]! * factor) / gross[t]!, weights[at + i]!);
        }
      }
      previous.set(weights.subarray(at, at + H));
    }
  }
  return [
    check({ name: 'weights', meaning: 'Weights and cash of every date sum to 1; the left side is the sum furthest from it.', ...sums.sides() }),
    ...(breaks ? [check({ name: 'drift', meaning: 'Where nothing else happens each weight moves with the growth of its name over that of all; the sides are of the cell furthest from it.', ...drifts.sides() })] : []),
    ...driftChecks(columns),
  ];
}

/** Growth of every name over each session from prices and actions, asked for session by session; NaN before a name's first bar. */
function growthRows(columns: RunColumns): (t: number, prices: Float64Array) => Float64Array {
  const { names, foreign, dates } = columns.header;
  const rates = new Map(Object.entries(foreign).map(([name, row]) => [Number(name), columns.f64('rates', row * dates, (row + 1) * dates)]));
  const effects = effectsBySession(columns);
  const carried = new Float64Array(names.length).fill(Number.NaN);
  const factors = new Float64Array(names.length);
  return (t, prices) => {
    const todays = effects.get(t);
    for (let i = 0; i < names.length; i++) {
      const before = carried[i]!;
      const bar = prices[i]!;
      const effect = todays?.get(i);
      if (before !== before) {
        factors[i] = Number.NaN;
        carried[i] = bar;
      } else if (effect) {
        const step = growthStep(effect, before, bar);
        factors[i] = step.factor;
        carried[i] = step.carried;
      } else {
        factors[i] = bar === bar ? bar / before : 1;
        if (bar === bar) carried[i] = bar;
      }
    }
    if (t > 0) for (const [i, series] of rates) factors[i]! *= series[t]! / series[t - 1]!;
    return factors;
  };
}

function effectsBySession(columns: RunColumns): Map<number, Map<number, SessionEffect>> {
  const bySession = new Map<number, Map<number, SessionEffect>>();
  for (const { name, at, effect } of runEffects(columns)) {
    let effects = bySession.get(at);
    if (!effects) bySession.set(at, (effects = new Map()));
    effects.set(name, effect);
  }
  return bySession;
}

/** What the weights view tells of the last date. A portfolio in cash may move into it: then the moves do not cancel. */
function driftChecks(columns: RunColumns): Check[] {
  const { held, target } = heldWeights(columns, null);
  const moved = held.reduce((sum, weight, i) => sum + weight - target[i]!, 0);
  const figures = drift(held, target);
  const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
  const absolute = held.reduce((total, weight, i) => total + Math.abs(weight - target[i]!), 0);
  return [
    check({ name: 'moves since the last rebalance', meaning: 'Moves of the weights since the last rebalance sum to what moved into or out of cash.', left: moved, right: sum(held) - sum(target) }),
    check({ name: 'turnover since the last rebalance', meaning: 'One-way turnover is half the sum of the moves.', left: absolute / 2, right: figures.turnover }),
  ];
}
