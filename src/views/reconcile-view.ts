import type { ReconciliationView } from '#contract/analytics.js';
import { linkContributions } from '#domain/analytics/attribution.js';
import { annualReturns, drawdownOf, returnsOf } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-columns.js';
import { readWindow } from './run-window.js';

/** A stored file of a run as it was written and as it is now. */
export interface StoredFile {
  readonly name: string;
  readonly recorded: string;
  /** SHA-256 of what is stored now, null when it is not there. */
  readonly found: string | null;
}

type Check = ReconciliationView['checks'][number];

const TOLERANCE = 1e-10;

/**
 * Recomputes the identities of a stored run and tells each with both sides.
 * @cost reads every weight of the run
 */
export function reconcileView(columns: RunColumns, files: readonly StoredFile[]): ReconciliationView {
  const checks = [...files.map(fileCheck), ...levelChecks(columns), ...weightChecks(columns), ...rebalanceChecks(columns), ...contributionChecks(columns)];
  return { index_id: columns.header.run_id, reconciles: checks.every(({ holds }) => holds), checks };
}

function fileCheck({ name, recorded, found }: StoredFile): Check {
  return { name: `stored ${name}`, meaning: `SHA-256 of the stored ${name} is the one recorded with the run.`, left: null, right: null, residual: found === recorded ? 0 : 1, tolerance: 0, holds: found === recorded };
}

interface Sides {
  readonly name: string;
  readonly meaning: string;
  readonly left: number;
  readonly right: number;
  readonly tolerance?: number;
}

function check({ name, meaning, left, right, tolerance = TOLERANCE }: Sides): Check {
  const residual = left - right;
  const scale = Math.max(1, Math.abs(left), Math.abs(right));
  return { name, meaning, left, right, residual, tolerance, holds: Math.abs(residual) <= tolerance * scale };
}

function levelChecks(columns: RunColumns): Check[] {
  const level = columns.f64('level');
  const value = columns.f64('value');
  const total = level.at(-1)! / level[0]! - 1;
  const compounded = returnsOf(level).reduce((product, r) => product * (1 + r), 1) - 1;
  const byYear = annualReturns(columns.i32('days'), level).reduce((product, [, r]) => product * (1 + r), 1) - 1;
  const gross = columns.f64('gross');
  const costs = columns.f64('costs');
  const kept = value.reduce((product, after, t) => (t === 0 ? 1 : product * gross[t]! * (after / (after + costs[t]!))), 1) - 1;
  return [
    check({ name: 'returns', meaning: 'Period returns compound to the total return.', left: compounded, right: total }),
    check({ name: 'annual returns', meaning: 'Annual returns compound to the total return.', left: byYear, right: total }),
    check({ name: 'level', meaning: 'The level is the value rebased to 100.', left: value.at(-1)! / value[0]! - 1, right: total }),
    check({ name: 'growth and costs', meaning: 'Growth of the holdings less the costs gives the total return.', left: kept, right: total }),
    check({ name: 'drawdown', meaning: 'No drawdown is above 0.', left: drawdownOf(level).reduce((highest, d) => Math.max(highest, d), -Infinity), right: 0 }),
  ];
}

function weightChecks(columns: RunColumns): Check[] {
  const H = columns.header.names.length;
  const weights = columns.f64('weights');
  const cash = columns.f64('cash');
  let worst = 1;
  for (let t = 0; t < cash.length; t++) {
    let sum = cash[t]!;
    for (let i = 0; i < H; i++) sum += weights[t * H + i]!;
    if (Math.abs(sum - 1) > Math.abs(worst - 1)) worst = sum;
  }
  return [check({ name: 'weights', meaning: 'Weights and cash of every date sum to 1; the left side is the sum furthest from it.', left: worst, right: 1 })];
}

function rebalanceChecks(columns: RunColumns): Check[] {
  const { names, rebalances } = columns.header;
  const H = names.length;
  const targets = columns.f64('targets');
  const raw = columns.f64('raw');
  return rebalances.flatMap(({ date, cap, redistributed }, r) => {
    const applied = targets.subarray(r * H, (r + 1) * H);
    const uncapped = raw.subarray(r * H, (r + 1) * H);
    const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
    const invested = sum(applied);
    const moved = uncapped.reduce((total, u, i) => total + Math.max(0, invested * u - applied[i]!), 0);
    const largest = applied.reduce((most, weight) => Math.max(most, weight), 0);
    return [
      check({ name: `rebalance ${date}: weights`, meaning: 'Applied weights sum to what is invested.', left: invested, right: Math.min(1, invested) }),
      check({ name: `rebalance ${date}: uncapped weights`, meaning: 'Weights before capping sum to 1.', left: sum(uncapped), right: 1 }),
      check({ name: `rebalance ${date}: redistributed`, meaning: 'What was moved is what names lost to the cap.', left: moved, right: invested * redistributed }),
      ...(cap === null ? [] : [check({ name: `rebalance ${date}: cap`, meaning: 'No weight exceeds the cap.', left: Math.max(largest, cap), right: cap })]),
    ];
  });
}

function contributionChecks(columns: RunColumns): Check[] {
  const { header } = columns;
  const level = columns.f64('level');
  const returns = returnsOf(level);
  if (returns.some((r) => !(r > -1))) return [];
  const window = readWindow(columns, { from: 0, to: level.length - 1 });
  const { totalReturn, residual } = linkContributions({
    names: header.names.length,
    returns,
    weightsBefore: (period) => window.weightsAt(period),
    contributionsOf: (period) => window.contributionsOf(period),
    costOf: (period) => window.costOf(period),
    hasCosts: header.has_costs,
  });
  return [check({ name: 'contributions', meaning: 'Linked contributions of all names add up to the total return.', left: totalReturn - residual, right: totalReturn })];
}
