import { z } from 'zod';
import { factoriseSemidefinite } from '#kernels/algebra/linear-systems.js';
import type { ProductShape } from '#kernels/algebra/products.js';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { CounterRandom } from '#kernels/random/counter-random.js';
import {
  createLevelBins,
  findBinQuantile,
  type LevelBins,
  type PathModel,
  type PathTallies,
} from '#kernels/simulation/simulate-paths.js';
import { LIMITS } from '../base/limits.js';
import { computeQuantile } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { defineObject } from '../base/schema.js';

/** Matrix functions for drawing returns, which every engine has. */
export interface DrawAlgebra {
  gemm(shape: ProductShape, a: Float64Array, b: Float64Array, out: Float64Array): void;
}

export interface ReturnMoments {
  /** Covariance of returns times `periods`. */
  readonly metric: Metric;
  /** Mean returns, [N]. */
  readonly means: Float64Array;
  /** Number of returns per covariance period: 252 for an annual covariance of daily returns. */
  readonly periods: number;
}

/**
 * Creates draws from a normal distribution, or from Student's distribution scaled to the given covariance.
 * @cost N^3 / 6 once for a whole matrix; N normals and N^2 multiply-adds per row, N k for loadings.
 * @source Kotz & Nadarajah (2004), Multivariate t distributions, section 1.1, as a normal over the root of a
 *   chi-square.
 */
export function createReturnDraws(algebra: DrawAlgebra, { metric, means, periods }: ReturnMoments) {
  const { n } = metric;
  const scale = 1 / Math.sqrt(periods);
  const root = metric.form === 'factor' ? metric.loadings : factoriseSemidefinite(metric.matrix, n).lower;
  const factorCount = metric.form === 'factor' ? metric.factors : n;
  const specificDeviations =
    metric.form === 'factor' ? metric.specific.map((value) => Math.sqrt(Math.max(value, 0))) : null;
  return {
    /**
     * Draws returns.
     * @param count number of rows.
     * @param degrees degrees of freedom of Student's distribution, an integer above 2; null for normal draws.
     * @returns [count x N]
     */
    draw(random: CounterRandom, count: number, degrees: number | null): Float64Array {
      const out = new Float64Array(count * n);
      for (let from = 0; from < count; from += CHUNK_ROWS)
        drawInto(random, degrees, out.subarray(from * n, Math.min(from + CHUNK_ROWS, count) * n));
      return out;
    },
  };

  function drawInto(random: CounterRandom, degrees: number | null, out: Float64Array): void {
    const count = out.length / n;
    const commonDraws = new Float64Array(count * factorCount);
    const specific = specificDeviations === null ? null : new Float64Array(count * n);
    const lengths = new Float64Array(count).fill(scale);
    for (let t = 0; t < count; t++) {
      for (let f = 0; f < factorCount; f++) commonDraws[t * factorCount + f] = random.normal();
      if (specific !== null)
        for (let i = 0; i < n; i++) specific[t * n + i] = specificDeviations![i]! * random.normal();
      if (degrees !== null) lengths[t] = scale * Math.sqrt((degrees - 2) / drawChiSquare(random, degrees));
    }
    if (factorCount > 0)
      algebra.gemm({ rows: count, inner: factorCount, columns: n, transposeB: true }, commonDraws, root, out);
    for (let t = 0, e = 0; t < count; t++)
      for (let i = 0; i < n; i++, e++) out[e] = means[i]! + lengths[t]! * (out[e]! + (specific?.[e] ?? 0));
  }
}

/** Number of rows that are multiplied at once. */
const CHUNK_ROWS = 4096;

function drawChiSquare(random: CounterRandom, degrees: number): number {
  let total = 0;
  for (let k = 0; k < degrees; k++) total += random.normal() ** 2;
  return total;
}

export const SIMULATION_METHODS = ['block_bootstrap', 'gaussian_factor'] as const;

export const SimulationRequest = defineObject(() => ({
  method: z.enum(SIMULATION_METHODS).default('block_bootstrap').meta({
    description:
      'Method. `block_bootstrap`: blocks of consecutive returns of the run. `gaussian_factor`: independent normal returns with the mean of the run and the variance of the last weights in a statistical factor model.',
  }),
  horizon: z
    .int()
    .min(1)
    .max(LIMITS.MAX_SIMULATION_SESSIONS)
    .default(252)
    .meta({ description: 'Number of future sessions.' }),
  paths: z
    .int()
    .min(1)
    .max(LIMITS.MAX_SIMULATION_PATHS)
    .default(10_000)
    .meta({ description: 'Number of paths. It determines the computing time and the memory (28 bytes per path).' }),
  block: z.int().min(1).max(LIMITS.MAX_SIMULATION_SESSIONS).default(21).meta({
    description: 'Number of sessions in a block, at most the number of returns of the run. Ignored by gaussian_factor.',
  }),
  seed: z.int().min(0).default(0).meta({
    description:
      'Seed of the random numbers. Equal seeds give equal paths, on any machine and for any number of workers.',
  }),
  percentiles: z
    .array(z.number().gt(0).lt(1))
    .min(1)
    .max(25)
    .default([0.05, 0.25, 0.5, 0.75, 0.95])
    .meta({ description: 'Percentiles, as fractions of the paths. Duplicates are counted once.' }),
  level: z
    .number()
    .gt(0)
    .max(100)
    .default(1)
    .meta({ description: 'Level threshold, as a multiple of the last level.' }),
  factors: z
    .int()
    .min(1)
    .max(20)
    .default(5)
    .meta({ description: 'Number of principal components of the factor model. Ignored by block_bootstrap.' }),
})).meta({ id: 'SimulationRequest' });
export type SimulationRequest = z.infer<typeof SimulationRequest>;

/**
 * Number of level bins per session. Over a range of twelve standard deviations, a bin is 0.6% of a standard deviation.
 */
const BINS = 2_048;

/** Maximum size in bytes of the level counts of all parts. They are stored until the simulation ends. */
const COUNT_BYTES_MAX = 512 * 2 ** 20;

/** Number of simulated sessions in a part, over all its paths. They take a few tenths of a second. */
const PART_SESSIONS = 20_000_000;

/** Plan of a simulation, which does not depend on the number of workers. */
export interface SimulationPlan {
  readonly model: PathModel;
  readonly bins: LevelBins;
  readonly horizon: number;
  readonly seed: number;
  readonly paths: number;
}

/** Returns the growth factors of a level series, one for each session after the first. */
export function computeLevelGrowth(level: Float64Array): Float64Array {
  return Float64Array.from({ length: Math.max(0, level.length - 1) }, (_, t) => level[t + 1]! / level[t]!);
}

export interface SimulatedMoments {
  readonly mean: number;
  /** Sample standard deviation (ddof 1). */
  readonly deviation: number;
}

/**
 * Computes the moments of the returns.
 * @throws Refusal RISK_INSUFFICIENT_DATA if there are too few returns
 */
export function computeMoments(growth: Float64Array): SimulatedMoments {
  const n = growth.length;
  if (n < LIMITS.MIN_MODEL_OBSERVATIONS) {
    throw new Refusal(
      'RISK_INSUFFICIENT_DATA',
      `The run has ${n} returns; at least ${LIMITS.MIN_MODEL_OBSERVATIONS} are required.`,
      { observations: n, observations_needed: LIMITS.MIN_MODEL_OBSERVATIONS },
    );
  }
  let mean = 0;
  for (const factor of growth) mean += (factor - 1) / n;
  let squares = 0;
  for (const factor of growth) squares += (factor - 1 - mean) ** 2;
  return { mean, deviation: Math.sqrt(squares / (n - 1)) };
}

/**
 * Plans a simulation. The bins depend only on the request and the moments.
 * @throws Refusal RISK_INSUFFICIENT_DATA if a block is longer than the run
 */
export function planSimulation(
  request: SimulationRequest,
  model: PathModel,
  moments: SimulatedMoments,
): SimulationPlan {
  if (model.kind === 'block_bootstrap' && model.block > model.growth.length) {
    throw new Refusal(
      'RISK_INSUFFICIENT_DATA',
      `A block of ${model.block} sessions does not fit into the ${model.growth.length} returns of the run.`,
      { observations: model.growth.length, block: model.block },
    );
  }
  const { horizon, paths, seed } = request;
  return { model, bins: createLevelBins({ ...moments, horizon, count: BINS }), horizon, seed, paths };
}

/** Returns the first path of each part, ascending, and the number of paths at the end. Any node can compute a part. */
export function divideSimulation({ paths, horizon }: Pick<SimulationRequest, 'paths' | 'horizon'>): readonly number[] {
  const partsMax = Math.floor(COUNT_BYTES_MAX / (4 * horizon * BINS));
  const partCount = Math.min(partsMax, paths, Math.ceil((paths * horizon) / PART_SESSIONS));
  return Array.from({ length: partCount + 1 }, (_, k) => Math.floor((k * paths) / partCount));
}

/** Returns the size in bytes of the results of some paths, a multiple of 8. */
export const computeTallyBytes = (paths: number, horizon: number): number =>
  8 * Math.ceil((28 * paths + 4 * horizon * BINS) / 8);

/**
 * Creates views of the results of some paths in memory of size `computeTallyBytes`, at an offset that is a multiple of
 * 8.
 */
export function createTallies(memory: ArrayBuffer, position: number, paths: number, horizon: number): PathTallies {
  return {
    finals: new Float64Array(memory, position, paths),
    lows: new Float64Array(memory, position + 8 * paths, paths),
    drawdowns: new Float64Array(memory, position + 16 * paths, paths),
    underwater: new Int32Array(memory, position + 24 * paths, paths),
    counts: new Uint32Array(memory, position + 28 * paths, horizon * BINS),
  };
}

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
  tallies: PathTallies,
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
