import { z } from 'zod';
import { levelBins } from '#kernels/simulation/level-bins.js';
import type { LevelBins, PathModel } from '#kernels/simulation/simulate-paths.js';
import { LIMITS } from '../refusals/limits.js';
import { Refusal } from '../refusals/refusal.js';

export const SIMULATION_METHODS = ['block_bootstrap', 'gaussian_factor'] as const;

/** Request of a simulation. */
export const SimulationRequest = z
  .strictObject({
    method: z.enum(SIMULATION_METHODS).default('block_bootstrap').meta({
      description:
        '`block_bootstrap`: blocks of consecutive returns of the run; `gaussian_factor`: independent normal returns with the mean of the run and the variance of the last weights in a statistical factor model.',
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
      .meta({ description: 'Number of paths; it determines the time, and the memory with 28 bytes each.' }),
    block: z.int().min(1).max(LIMITS.MAX_SIMULATION_SESSIONS).default(21).meta({
      description:
        'Number of sessions in a block, at most the number of returns of the run; ignored by gaussian_factor.',
    }),
    seed: z
      .int()
      .min(0)
      .default(0)
      .meta({ description: 'Equal seeds give equal paths, on any machine and any number of workers.' }),
    percentiles: z
      .array(z.number().gt(0).lt(1))
      .min(1)
      .max(25)
      .default([0.05, 0.25, 0.5, 0.75, 0.95])
      .meta({ description: 'Percentiles as shares of the paths that end below; duplicates count once.' }),
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
      .meta({ description: 'Number of principal components of the factor model; ignored by block_bootstrap.' }),
  })
  .meta({ id: 'SimulationRequest' });
export type SimulationRequest = z.infer<typeof SimulationRequest>;

/** Number of level bins per session: over twelve deviations a bin is 0.6 % of one. */
const BINS = 2_048;

/** Maximum memory for the counts of all parts together. */
const COUNT_BYTES_MAX = 64 * 2 ** 20;

/** Maximum number of parts of a simulation, to be shared by a few workers. */
const PARTS_MAX = 16;

/** Minimum number of paths of a part. */
const PART_PATHS_MIN = 2_048;

/** Plan of a simulation: the same for any number of workers. */
export interface SimulationPlan {
  readonly model: PathModel;
  readonly bins: LevelBins;
  readonly horizon: number;
  readonly seed: number;
  readonly paths: number;
  /** First path of each part and the end of the last, ascending. */
  readonly cuts: readonly number[];
}

/** Returns growth factors of a level series, one for each session after the first. */
export function growthOfLevel(level: Float64Array): Float64Array {
  return Float64Array.from({ length: Math.max(0, level.length - 1) }, (_, t) => level[t + 1]! / level[t]!);
}

export interface ReturnMoments {
  readonly mean: number;
  /** Standard deviation with ddof 1. */
  readonly deviation: number;
}

/** @throws Refusal RISK_INSUFFICIENT_DATA if there are too few returns */
export function momentsOf(growth: Float64Array): ReturnMoments {
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
 * Chooses bins and parts from the problem only.
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
  const most = Math.floor(COUNT_BYTES_MAX / (4 * horizon * BINS));
  const parts = Math.max(1, Math.min(PARTS_MAX, most, Math.floor(paths / PART_PATHS_MIN)));
  const cuts = Array.from({ length: parts + 1 }, (_, k) => Math.floor((k * paths) / parts));
  return { model, bins: levelBins({ ...moments, horizon, count: BINS }), horizon, seed, paths, cuts };
}

/** Returns the bytes that all parts of a simulation use. */
export function tallyBytes({
  paths,
  horizon,
  cuts,
  bins,
}: Pick<SimulationPlan, 'paths' | 'horizon' | 'cuts' | 'bins'>): number {
  return 28 * paths + 4 * (cuts.length - 1) * horizon * bins.count;
}

/** Shared memory of a simulation: four numbers per path, then counts for each part. */
export interface SharedTallies {
  readonly finals: Float64Array;
  readonly lows: Float64Array;
  readonly drawdowns: Float64Array;
  readonly underwater: Int32Array;
  /** Counts of each part, [horizon x bins]. */
  readonly counts: readonly Uint32Array[];
}

/** Creates views on memory of the size from `tallyBytes`. */
export function sharedTallies(
  memory: SharedArrayBuffer,
  { paths, horizon, cuts, bins }: Pick<SimulationPlan, 'paths' | 'horizon' | 'cuts' | 'bins'>,
): SharedTallies {
  const cells = horizon * bins.count;
  const countsAt = 28 * paths;
  return {
    finals: new Float64Array(memory, 0, paths),
    lows: new Float64Array(memory, 8 * paths, paths),
    drawdowns: new Float64Array(memory, 16 * paths, paths),
    underwater: new Int32Array(memory, 24 * paths, paths),
    counts: cuts.slice(1).map((_, part) => new Uint32Array(memory, countsAt + 4 * part * cells, cells)),
  };
}
