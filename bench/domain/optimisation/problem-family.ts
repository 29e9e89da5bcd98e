import { ConstraintRow } from '#domain/definition/constraint-class.js';
import type { Objective } from '#domain/definition/objectives.js';
import { createProblem, type Problem } from '#domain/optimisation/problem.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createDenseMetric, type Metric } from '#kernels/optimisation/program/metric.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

/** Securities of an index, the sessions of its risk model, and the data for constraint rows. */
export interface Family {
  readonly identifiers: readonly string[];
  readonly index: Float64Array;
  readonly previous: Float64Array;
  readonly metric: Metric;
  /** Annualised expected return of each security, [N]. */
  readonly means: Float64Array;
  readonly sectors: readonly string[];
  readonly values: Float64Array;
  readonly valueTraded: Float64Array;
  /** Simple returns by session, [T x N], which are the scenarios of tail constraints. */
  readonly returns: Float64Array;
  /**
   * Returns the problem with the given constraint rows.
   * @param objective Default: minimum tracking error.
   * @param algebra Default: plain loops.
   */
  createProblem(rows: readonly object[], objective?: Objective, algebra?: DenseAlgebra): Problem;
}

const SECTORS = 11;

/**
 * Returns securities that a market factor and eleven sector factors drive, with fat tails. The index weights follow a
 * skewed size. The previous weights have drifted from the index. The covariance is the sample covariance, shrunk by a
 * tenth towards its diagonal.
 */
export function createProblemFamily(names: number, sessions: number, seed = 1): Family {
  const random = createCounterRandom({ seed, stream: 11 });
  const identifiers = Array.from({ length: names }, (_, i) => `N${String(i).padStart(4, '0')}`);
  const sectorIndices = identifiers.map((_, i) => i % SECTORS);
  const panel = drawReturnsPanel(random, sectorIndices, sessions);
  const returns = panel.slice();
  const { covariance, means } = createMoments(panel, names);
  const metric = createDenseMetric(covariance, names);
  const index = normalise(identifiers.map(() => Math.exp(1.1 * random.normal())));
  const previous = normalise([...index].map((weight) => weight * Math.exp(0.2 * random.normal())));
  const sectors = sectorIndices.map((sector) => `S${sector}`);
  const values = Float64Array.from(identifiers, () => 100 * random.uniform());
  const tradedValues = Float64Array.from(index, (weight) => 1e9 * weight * (0.5 + random.uniform()));
  return {
    identifiers,
    index,
    previous,
    metric,
    means,
    sectors,
    values,
    valueTraded: tradedValues,
    returns,
    createProblem: (rows, objective, algebra) =>
      createProblem({
        ...(objective === undefined ? {} : { objective }),
        ...(algebra === undefined ? {} : { algebra }),
        expectedReturns: means,
        identifiers,
        index,
        metric,
        previous: { weights: previous, outside: 0 },
        scenarios: () => ({ returns, counts: null }),
        rows: rows.map((row) => ConstraintRow.parse(row)),
        datapoints: { numbers: () => values, categories: () => sectors, medianValueTraded: () => tradedValues },
      }),
  };
}

type Random = ReturnType<typeof createCounterRandom>;

function drawReturnsPanel(random: Random, sectorIndices: readonly number[], sessions: number): Float64Array {
  const names = sectorIndices.length;
  const drawFatTailed = () => random.normal() * (random.uniform() < 0.05 ? 3 : 1);
  const beta = Float64Array.from(sectorIndices, () => 1 + 0.25 * random.normal());
  const specificVolatility = Float64Array.from(sectorIndices, () => 0.01 + 0.01 * random.uniform());
  const panel = new Float64Array(sessions * names);
  for (let t = 0; t < sessions; t++) {
    const market = 0.0003 + 0.009 * drawFatTailed();
    const sectors = Array.from({ length: SECTORS }, () => 0.005 * drawFatTailed());
    for (let i = 0; i < names; i++)
      panel[t * names + i] = beta[i]! * market + sectors[sectorIndices[i]!]! + specificVolatility[i]! * drawFatTailed();
  }
  return panel;
}

/** Returns the annualised shrunk covariance and the means, and subtracts the means from the panel. */
function createMoments(panel: Float64Array, names: number): { covariance: Float64Array; means: Float64Array } {
  const sessions = panel.length / names;
  const means = new Float64Array(names);
  for (let e = 0; e < panel.length; e++) means[e % names]! += panel[e]! / sessions;
  for (let e = 0; e < panel.length; e++) panel[e]! -= means[e % names]!;
  const covariance = new Float64Array(names * names);
  for (let t = 0; t < sessions; t++) {
    for (let i = 0; i < names; i++) {
      const value = (0.9 * 252 * panel[t * names + i]!) / (sessions - 1);
      for (let j = 0; j <= i; j++) covariance[i * names + j]! += value * panel[t * names + j]!;
    }
  }
  for (let i = 0; i < names; i++) {
    covariance[i * names + i]! /= 0.9;
    for (let j = 0; j < i; j++) covariance[j * names + i] = covariance[i * names + j]!;
  }
  return { covariance, means: means.map((mean) => 252 * mean) };
}

function normalise(raw: readonly number[]): Float64Array {
  const total = raw.reduce((sum, value) => sum + value, 0);
  return Float64Array.from(raw, (value) => value / total);
}
