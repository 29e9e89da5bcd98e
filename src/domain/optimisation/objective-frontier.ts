import { shrinkGram } from '#kernels/moments/rolling-gram.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createDenseMetric, type Metric } from '#kernels/optimisation/program/metric.js';
import type { ProgramResult } from '#kernels/optimisation/program/optimality.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { createReturnDraws, type DrawAlgebra } from '../analytics/simulation.js';
import type { Finding } from '../base/findings.js';
import { computeDotProduct } from '../base/numbers.js';
import { TRACKING_OBJECTIVE } from '../definition/objectives.js';
import { computeOutcomes, computeTailAverage, type TailGoal } from '../definition/tail-risk.js';
import type { Restriction } from './assembly.js';
import { clearRoundingWeights } from './convex-solve.js';
import type { FrontierRisk } from './frontier-terms.js';
import {
  addRow,
  computeFrontierPoint,
  findLargestReturn,
  type FrontierInput,
  type FrontierPoint,
  mixWeights,
  type FrontierTrace,
  traceFrontier,
  traceWithinTails,
} from './frontier.js';
import { listNonConvexRows, type Problem } from './problem.js';
import { createRestriction, markHoldings, markShort } from './restriction.js';
import type { Solution } from './search.js';
import { solveTailGoal } from './tail-averages.js';
import { meterSolver } from './work-meter.js';

/** Portfolio with the least risk, as the objective measures it, at an expected return. */
export interface ObjectivePortfolio extends FrontierPoint {
  readonly risk_measure: FrontierRisk;
  readonly risk: number;
  /** [N] */
  readonly weights: Float64Array;
}

/**
 * Returns the risk measure of the frontier for the objective of a problem: that of the objective, or the volatility.
 */
export function findFrontierRisk({ goal, objective }: Pick<Problem, 'goal' | 'objective'>): FrontierRisk {
  if (goal.form === 'tail') return goal.measure === 'loss' ? 'cvar' : 'cdar';
  return objective.entry.type === TRACKING_OBJECTIVE.entry.type ? 'tracking_error' : 'volatility';
}

export interface ObjectiveFrontierInput extends Omit<FrontierInput, 'riskFreeRate'> {
  /** Solution with the largest expected return, if the efficient frontier found it. */
  readonly most?: ProgramResult | undefined;
  /** Solution of the problem. */
  readonly solution?: Pick<Solution, 'assembled' | 'answer'> | undefined;
}

/**
 * Computes portfolios with the least risk of the objective, without costs. They lead from the overall minimum to the
 * largest expected return, equally spaced in expected return. Returns null for objectives based on volatility, because
 * their frontier is the efficient frontier. Also returns null if the rows have no frontier, or if it needs too much
 * work.
 * @cost as many warm solves as points; for tails fewer points if a solve is expensive
 * @source Rockafellar & Uryasev (2000), Journal of Risk 2(3), section 4, and Chekhlov, Uryasev & Zabarankin (2005),
 * International Journal of Theoretical and Applied Finance 8(1), for frontiers of tails; Roll (1992), Journal of
 * Portfolio Management 18(4), for the frontier of the tracking error.
 */
export function computeObjectiveFrontier(input: ObjectiveFrontierInput): readonly ObjectivePortfolio[] | null {
  const { problem, means, most, solution } = input;
  const measure = findFrontierRisk(problem);
  if (measure === 'volatility') return null;
  const { goal, index } = problem;
  const solver = meterSolver(input.solver);
  const nearOptimum = solution && { program: solution.assembled.program, answer: solution.answer };
  let before: FrontierTrace | undefined;
  return traceWithinTails({
    ...input,
    solver,
    trace(program) {
      // Rows with tail limits need repeated traces.
      if (before !== undefined && solver.spent() > TRACES_WORK_MAX) return null;
      let least: readonly Float64Array[] | undefined;
      if (goal.form === 'tail') least = minimiseTails(solver, { problem, goal, base: program, means, most });
      else {
        const tracedFrontier = traceFrontier(solver, program, means, {
          centre: index,
          before,
          most,
          near: nearOptimum,
        });
        before = tracedFrontier?.trace;
        least = tracedFrontier?.solved.map(({ x }) => x);
      }
      const weights = least?.map(clearRoundingWeights);
      if (weights === undefined) return null;
      const results = weights.map((portfolioWeights): ObjectivePortfolio => {
        const point = computeFrontierPoint(problem, means, portfolioWeights);
        const risk =
          goal.form === 'tail'
            ? computeTailAverage(goal, computeOutcomes(goal, portfolioWeights))
            : point.tracking_error;
        return { ...point, risk_measure: measure, risk, weights: portfolioWeights };
      });
      return { found: results, weights };
    },
  });
}

/**
 * Maximum number of multiplications of a tail frontier, a few seconds. Work is counted, so that equal requests have
 * equal points.
 */
const WORK_MAX = 2e9;

/** Number of multiplications after which a frontier is not traced again with further planes of tail rows. */
const TRACES_WORK_MAX = 2e10;

/** Numbers of frontier points, from which the work limit selects. */
const POINT_COUNTS = [21, 11, 6] as const;

interface TailTrace extends Pick<ObjectiveFrontierInput, 'problem' | 'means' | 'most'> {
  readonly goal: TailGoal;
  readonly base: Program;
}

/**
 * Returns the portfolios with the smallest tails at successive expected returns. Returns undefined if there are none,
 * or if one takes too long.
 */
function minimiseTails(
  inner: Solver,
  { problem, goal, base, means, most: programResult }: TailTrace,
): Float64Array[] | undefined {
  const solver = meterSolver(inner);
  const goalOnly = { ...problem, costs: null, robustness: null };
  const first = solveTailGoal(solver, goalOnly, goal, base, undefined);
  const count = POINT_COUNTS.find((points) => points * solver.spent() <= WORK_MAX);
  const last = findLargestReturn(solver, base, means, programResult);
  if (first === undefined || count === undefined || last.status !== 'solved') return undefined;
  const [least, most] = [first.answer.point.x, last.point.x];
  const from = computeDotProduct(means, least);
  const to = Math.max(computeDotProduct(means, most), from);
  let { start } = first;
  return Array.from({ length: count }, (_, k) => {
    if (k === 0) return least;
    const rows = addReturnFloor(base, means, from + ((to - from) * k) / (count - 1));
    const result = solveTailGoal(solver, goalOnly, goal, rows, start);
    start = result?.start ?? start;
    return result?.answer.point.x ?? mixWeights(least, most, k / (count - 1));
  });
}

function addReturnFloor(base: Program, means: Float64Array, least: number): Program {
  const program = addRow(base, means);
  const { rows } = program;
  const last = rows.count - 1;
  return {
    ...program,
    rows: { ...rows, lower: rows.lower.with(last, least), upper: rows.upper.with(last, Infinity) },
  };
}

/**
 * Returns the restriction to the choice of a solution: held securities, and securities above triggers. Returns
 * undefined if no row restricts the choice.
 */
export function fixChoice(problem: Problem, weights: Float64Array): Restriction | undefined {
  const rows = listNonConvexRows(problem).map(({ row }) => row);
  if (rows.length === 0) return undefined;
  const large = rows.flatMap((row) =>
    row.form === 'concentration'
      ? [Uint8Array.from(weights, (weight) => (weight > row.trigger + TRIGGER_TOLERANCE ? 1 : 0))]
      : [],
  );
  return createRestriction(rows, {
    held: markHoldings(weights),
    short: markShort(weights),
    large,
    isFinal: true,
  });
}

/** Excess over a trigger above which a weight counts as exceeding it. */
const TRIGGER_TOLERANCE = 1e-10;

/** Objectives without a separate frontier, with the reason. */
const OBJECTIVES_WITHOUT_FRONTIER: Readonly<Record<string, string>> = {
  risk_parity: 'risk budgets have a single solution within the constraints, and no frontier',
  max_diversification: 'the ratio has no expected return; its solution is reported with the points as portfolio',
  max_decorrelation: 'the ratio has no expected return; its solution is reported with the points as portfolio',
};

export interface FrontierAvailability {
  readonly problem: Problem;
  /** Expected returns of the frontier; null if there are none. */
  readonly means: Float64Array | null;
  readonly hasFrontier: boolean;
  readonly hasOwn: boolean;
}

/** Returns the findings on the frontiers of a result: risk measure, securities, and missing frontiers. */
export function listFrontierFindings({ problem, means, hasFrontier, hasOwn }: FrontierAvailability): Finding[] {
  const createInfo = (severity: Finding['severity'], message: string): Finding => ({
    severity,
    code: 'FRONTIER_SCOPE',
    message,
    path: '',
  });
  if (means === null)
    return [
      createInfo(
        'warning',
        'There is no frontier: the request has no expected returns, and the history of the securities is too short for mean returns. The weights do not depend on them.',
      ),
    ];
  if (!hasFrontier)
    return [
      createInfo(
        'warning',
        'There is no frontier: the solver found no minimum variance or no maximum expected return within the constraints.',
      ),
    ];
  const { type } = problem.objective.entry;
  const reasonWithoutFrontier = OBJECTIVES_WITHOUT_FRONTIER[type];
  const nonConvexTypes = [...new Set(listNonConvexRows(problem).map(({ origin }) => origin.type))];
  return [
    ...(reasonWithoutFrontier === undefined
      ? []
      : [
          createInfo(
            'info',
            `The frontier is the frontier of mean and variance, not of ${type}: ${reasonWithoutFrontier}.`,
          ),
        ]),
    ...(findFrontierRisk(problem) === 'volatility' || hasOwn
      ? []
      : [
          createInfo(
            'warning',
            `There is no frontier for the risk measure of ${type}, because it would exceed the work limit.`,
          ),
        ]),
    ...(nonConvexTypes.length === 0
      ? []
      : [
          createInfo(
            'info',
            `The frontier uses the securities of the solution, which were selected by ${nonConvexTypes.join(', ')}. Other securities can be better at other returns.`,
          ),
        ]),
  ];
}

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
    let before: FrontierTrace | undefined;
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
