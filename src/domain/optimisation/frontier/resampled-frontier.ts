import { shrinkGram } from '#kernels/moments/shrunk-from-gram.js';
import { createDenseMetric, type Metric } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { createReturnDraws, type DrawAlgebra } from '../../simulation/draw-returns.js';
import { computeFrontierPoint, traceWithinTails, type FrontierInput, type FrontierPoint } from './frontier.js';
import { clearRoundingWeights } from '../rounding-weights.js';
import { traceFrontier, type Trace } from './trace-frontier.js';

/** Number and kind of draws for a resampled frontier. */
export interface Resampling {
  readonly draws: number;
  readonly seed: number;
  /** Number of simulated returns in each draw. */
  readonly sessions: number;
}

/** Portfolio of a resampled frontier, measured with the original estimates. */
export interface ResampledPortfolio extends FrontierPoint {
  /** Mean weights over the draws, [N]. */
  readonly weights: Float64Array;
  /** Standard deviations of the weights over the draws, [N]; 0 for a single draw. */
  readonly spread: Float64Array;
}

export interface ResampledFrontier {
  /** Number of draws with a frontier. */
  readonly draws: number;
  /**
   * Portfolios by rank. The first averages the portfolios of least variance over the draws, the last those of largest
   * expected return.
   */
  readonly points: readonly ResampledPortfolio[];
}

export interface ResampledInput extends Omit<FrontierInput, 'riskFreeRate'> {
  readonly algebra: DenseAlgebra & DrawAlgebra;
  readonly resampling: Resampling;
  /** Number of sessions per year. */
  readonly periods: number;
  /** Reports progress after each draw; throws to cancel the work. */
  readonly report?: (share: number) => void;
}

/**
 * Computes the frontier of portfolios averaged over draws. Each draw is a history of normal returns with the estimated
 * moments. Means and covariance are estimated again from the draw, and a frontier is traced. Portfolios of equal rank
 * are averaged. The rows are those of the problem, measured with its covariance. If all portfolios satisfy a convex
 * row, their average does too. Each draw has a separate random stream.
 * @returns null if no draw has a frontier.
 * @cost a frontier for each draw, and T N^2 to estimate it.
 * @source Michaud (1998), Efficient Asset Management, chapter 6; Scherer (2002), Portfolio resampling: review and
 * critique, Financial Analysts Journal 58(6), for averages by rank.
 */
export function computeResampledFrontier(input: ResampledInput): ResampledFrontier | null {
  const { solver, algebra, problem, means, restriction, points: count, resampling, report, periods } = input;
  const { draws, seed, sessions } = resampling;
  const n = problem.index.length;
  const returns = createReturnDraws(algebra, {
    metric: problem.metric,
    means: means.map((mean) => mean / periods),
    periods,
  });
  let solvedDraws = 0;
  let sums: RunningMoments[] | undefined;
  for (let draw = 0; draw < draws; draw++) {
    report?.(draw / draws);
    const panel = returns.draw(createCounterRandom({ seed, stream: draw }), sessions, null);
    const moments = estimateMoments(algebra, panel, { sessions, n, periods });
    let before: Trace | undefined;
    const traceDraw = (program: Program) => {
      const drawnProgram = setCovariance(program, moments.metric);
      const tracedFrontier = traceFrontier(solver, drawnProgram, moments.means, { points: count, before });
      if (tracedFrontier === null) return null;
      before = tracedFrontier.trace;
      const results = tracedFrontier.solved.map(({ x }) => clearRoundingWeights(x));
      return { found: results, weights: results };
    };
    const drawnFrontier = traceWithinTails({ solver, problem, means: moments.means, restriction, trace: traceDraw });
    if (drawnFrontier === null) continue;
    sums ??= drawnFrontier.map(() => ({ mean: new Float64Array(n), squares: new Float64Array(n) }));
    solvedDraws++;
    for (const [rank, weights] of drawnFrontier.entries()) addPortfolio(sums[rank]!, weights, solvedDraws);
  }
  if (sums === undefined) return null;
  return {
    draws: solvedDraws,
    points: sums.map(({ mean, squares }) => ({
      ...computeFrontierPoint(problem, means, mean),
      weights: mean,
      spread: squares.map((value) => (solvedDraws > 1 ? Math.sqrt(Math.max(value, 0) / (solvedDraws - 1)) : 0)),
    })),
  };
}

/** Running mean of the weights, and sum of squared deviations from it. */
interface RunningMoments {
  readonly mean: Float64Array;
  readonly squares: Float64Array;
}

/**
 * Adds a portfolio to the running moments.
 * @source Welford (1962), Technometrics 4(3)
 */
function addPortfolio({ mean, squares }: RunningMoments, weights: Float64Array, count: number): void {
  for (let i = 0; i < weights.length; i++) {
    const before = weights[i]! - mean[i]!;
    mean[i]! += before / count;
    squares[i]! += before * (weights[i]! - mean[i]!);
  }
}

/** Returns the annual means and the covariance of a panel, estimated with the default estimator. */
function estimateMoments(
  algebra: DenseAlgebra,
  panel: Float64Array,
  { sessions, n, periods }: { readonly sessions: number; readonly n: number; readonly periods: number },
): { readonly means: Float64Array; readonly metric: Metric } {
  const products = new Float64Array(n * n);
  algebra.symmetricRankK(panel, n, products);
  const sums = new Float64Array(n);
  for (let t = 0, e = 0; t < sessions; t++) for (let i = 0; i < n; i++, e++) sums[i]! += panel[e]!;
  const matrix = new Float64Array(n * n);
  shrinkGram({ products, sums }, sessions, periods, matrix);
  return { means: sums.map((sum) => (periods * sum) / sessions), metric: createDenseMetric(matrix, n) };
}

/** Replaces the covariance in the objective of a program. Norm rows keep the original covariance. */
function setCovariance(program: Program, metric: Metric): Program {
  const { metric: ownMetric, norms } = program;
  return {
    ...program,
    metric,
    norms: norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric: ownMetric! } : norm)), // a program with such a norm has a metric
  };
}
