import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { createLevelBins } from '#kernels/simulation/level-bins.js';
import type { LevelBins, PathModel } from '#kernels/simulation/simulate-paths.js';
import { LIMITS } from '../refusals/limits.js';
import { Refusal } from '../refusals/refusal.js';

export const SIMULATION_METHODS = ['block_bootstrap', 'gaussian_factor'] as const;

/** Request of a simulation. */
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

export interface ReturnMoments {
  readonly mean: number;
  /** Sample standard deviation (ddof 1). */
  readonly deviation: number;
}

/**
 * Computes the moments of the returns.
 * @throws Refusal RISK_INSUFFICIENT_DATA if there are too few returns
 */
export function computeMoments(growth: Float64Array): ReturnMoments {
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
export function planSimulation(request: SimulationRequest, model: PathModel, moments: ReturnMoments): SimulationPlan {
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

/** Results of a range of paths: four numbers per path, and level counts. */
export interface Tallies {
  readonly finals: Float64Array;
  readonly lows: Float64Array;
  readonly drawdowns: Float64Array;
  readonly underwater: Int32Array;
  /** Level counts, [horizon x bins]. */
  readonly counts: Uint32Array;
}

/** Returns the size in bytes of the results of some paths, a multiple of 8. */
export const computeTallyBytes = (paths: number, horizon: number): number =>
  8 * Math.ceil((28 * paths + 4 * horizon * BINS) / 8);

/**
 * Creates views of the results of some paths in memory of size `computeTallyBytes`, at an offset that is a multiple of
 * 8.
 */
export function createTallies(memory: ArrayBuffer, position: number, paths: number, horizon: number): Tallies {
  return {
    finals: new Float64Array(memory, position, paths),
    lows: new Float64Array(memory, position + 8 * paths, paths),
    drawdowns: new Float64Array(memory, position + 16 * paths, paths),
    underwater: new Int32Array(memory, position + 24 * paths, paths),
    counts: new Uint32Array(memory, position + 28 * paths, horizon * BINS),
  };
}
