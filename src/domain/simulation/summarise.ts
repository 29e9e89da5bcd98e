import { findBinQuantile } from '#kernels/simulation/level-bins.js';
import type { SimulationPlan, SimulationRequest, Tallies } from './simulation.js';
import { computeQuantile } from '../numbers/order-statistics.js';

/** Distribution of a number over the paths. */
export interface Distribution {
  readonly mean: number;
  readonly deviation: number;
  readonly minimum: number;
  readonly maximum: number;
  /** Values by requested percentile. */
  readonly percentiles: Readonly<Record<string, number>>;
}

export interface SimulationSummary {
  /** Level at each percentile after each session, 100 at the start, [horizon + 1][percentiles]. */
  readonly levels: readonly (readonly number[])[];
  readonly totalReturn: Distribution;
  /** Distribution of the maximum drawdown, at most 0. */
  readonly maxDrawdown: Distribution;
  /** Distribution of the length in sessions of the longest period below a previous high. */
  readonly timeUnderWater: Distribution;
  readonly shortfall: { readonly atEnd: number; readonly atAnyTime: number };
}

/**
 * Computes percentiles, distributions and probabilities of simulated paths.
 * @cost a sort of each list and one pass over the counts
 */
export function summariseSimulation(
  { percentiles, level }: SimulationRequest,
  plan: SimulationPlan,
  tallies: Tallies,
): SimulationSummary {
  const levels = [percentiles.map(() => 100)];
  for (let t = 0; t < plan.horizon; t++)
    levels.push(percentiles.map((share) => 100 * findBinQuantile(plan.bins, tallies.counts, t, share)));
  return {
    levels,
    totalReturn: createDistribution(
      tallies.finals.map((final) => final - 1),
      percentiles,
    ),
    maxDrawdown: createDistribution(
      tallies.drawdowns.map((loss) => (loss === 0 ? 0 : -loss)),
      percentiles,
    ),
    timeUnderWater: createDistribution(Float64Array.from(tallies.underwater), percentiles),
    shortfall: { atEnd: computeShareBelow(tallies.finals, level), atAnyTime: computeShareBelow(tallies.lows, level) },
  };
}

function computeShareBelow(values: Float64Array, level: number): number {
  let belowCount = 0;
  for (let p = 0; p < values.length; p++) if (values[p]! < level) belowCount++;
  return belowCount / values.length;
}

/**
 * Computes a distribution. Sorts the values in place. Quantiles interpolate between order statistics (Hyndman & Fan
 * (1996), type 7).
 */
export function createDistribution(values: Float64Array, shares: readonly number[]): Distribution {
  values.sort();
  const n = values.length;
  let mean = 0;
  for (let p = 0; p < n; p++) mean += values[p]! / n;
  let squares = 0;
  for (let p = 0; p < n; p++) squares += (values[p]! - mean) ** 2;
  return {
    mean,
    deviation: n > 1 ? Math.sqrt(squares / (n - 1)) : 0,
    minimum: values[0]!,
    maximum: values[n - 1]!,
    percentiles: Object.fromEntries(shares.map((share) => [String(share), computeQuantile(values, share)])),
  };
}
