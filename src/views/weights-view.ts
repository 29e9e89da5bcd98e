import type { WeightsView } from '#contract/analytics/weights.js';
import { measureConcentration, measureDrift } from '#domain/analytics/concentration.js';
import { computeShortExposure } from '#domain/analytics/exposure.js';
import type { StoredRebalance } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { parseValidDay, formatDay, type Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { findDateInForce } from '#domain/schedule/date-in-force.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { roundOnDay } from './rounded.js';

/** Holdings on a date of a stored run. */
export interface HeldWeights {
  readonly names: readonly string[];
  /** Position of the date in the run. */
  readonly at: number;
  readonly day: Day;
  /** Held weights, negative for short positions, [H]. */
  readonly held: Float64Array;
  /** Applied weights of the rebalance in force, [H]. */
  readonly target: Float64Array;
  readonly raw: Float64Array;
  readonly capped: Uint8Array;
  readonly rebalance: StoredRebalance;
  /** Date of the rebalance. It is on or before the date of the weights. */
  readonly rebalanceDay: Day;
  /** Rounds a weight for publication. */
  readonly round: (weight: number) => number;
}

/**
 * Reads the holdings on a date of a stored run.
 * @throws Refusal NO_DATA_AT_DATE before the first date of the run
 */
export function readPositiveWeights(columns: RunColumns, asOf: string | null): HeldWeights {
  const { header } = columns;
  const days = columns.i32('days');
  const position = asOf === null ? days.length - 1 : findLastAtMost(days, parseValidDay(asOf));
  if (position < 0)
    throw new Refusal('NO_DATA_AT_DATE', `as_of ${asOf} is before the first date of the run, ${formatDay(days[0]!)}.`);
  const H = header.names.length;
  const r = header.rebalances.findLastIndex((rebalance) => rebalance.at <= position);
  return {
    names: header.names,
    at: position,
    day: days[position]!,
    held: columns.f64(header.has_index_weights ? 'indexWeights' : 'weights', position * H, (position + 1) * H),
    target: columns.f64('targets', r * H, (r + 1) * H),
    raw: columns.f64('raw', r * H, (r + 1) * H),
    capped: columns.u8('capped', r * H, (r + 1) * H),
    rebalance: header.rebalances[r]!,
    rebalanceDay: findStoredDate(header.rebalances[r]!, days, days[position]!),
    round: roundOnDay(columns, 'weights', days[position]!),
  };
}

/**
 * Returns the date of a stored rebalance. It is never after a day on which the rebalance is valid.
 * @param days days of the run
 */
export function findStoredDate({ date, at }: StoredRebalance, days: Int32Array, asOf: Day): Day {
  const rebalanceDay = parseValidDay(date);
  return findDateInForce({ date: rebalanceDay, session: at < 0 ? rebalanceDay : days[at]! }, asOf);
}

/** Risk of the held weights and its contributions by security. */
export interface HeldRisk {
  readonly payload: NonNullable<WeightsView['risk']>;
  findContribution(name: string): number | null;
}

export interface ActiveRisk {
  readonly payload: NonNullable<WeightsView['active_risk']>;
  findContribution(name: string): number | null;
}

export interface WeightsInput {
  readonly runId: string;
  readonly requestedAsOf: string | null;
  readonly weights: HeldWeights;
  /** Weights of a benchmark on the date; null if there is none. */
  readonly benchmark: ReadonlyMap<string, number> | null;
  /**
   * Returns the shares outstanding of a company on the date. Returns null if the market is unavailable or lacks this
   * figure.
   */
  findShares(name: string): number | null;
  readonly risk: HeldRisk | null;
  readonly activeRisk: ActiveRisk | null;
}

export function createWeightsView({
  runId,
  requestedAsOf,
  weights,
  benchmark,
  findShares,
  risk,
  activeRisk,
}: WeightsInput): WeightsView {
  const { names, at, day, held, target, raw, capped, rebalance, rebalanceDay, round } = weights;
  const isRebalance = rebalance.at === at;
  const rows = names.flatMap((identifier, i) =>
    held[i] !== 0
      ? [
          {
            identifier,
            weight: round(held[i]!),
            decided_weight: round(target[i]!),
            raw_weight: round(raw[i]!),
            capped: capped[i] === 1,
            active_weight: benchmark === null ? null : held[i]! - (benchmark.get(identifier) ?? 0),
            active_risk_contribution: activeRisk?.findContribution(identifier) ?? null,
            risk_contribution: risk?.findContribution(identifier) ?? null,
            delta_since_rebalance: isRebalance ? null : held[i]! - target[i]!,
            shares_outstanding: findShares(identifier),
          },
        ]
      : [],
  );
  const exposure = computeShortExposure(held);
  return {
    index_id: runId,
    requested_as_of: requestedAsOf,
    as_of: formatDay(day),
    rebalance_date: formatDay(rebalanceDay),
    cap: rebalance.cap,
    weights: rows.toSorted((a, b) => b.weight - a.weight || compareText(a.identifier, b.identifier)),
    concentration: measureConcentration(held),
    ...(exposure ? { exposure } : {}),
    drift: isRebalance ? null : { ...measureDrift(held, target), since: formatDay(rebalanceDay) },
    risk: risk?.payload ?? null,
    active_risk: activeRisk?.payload ?? null,
  };
}
