import type { Engine } from '#kernels/engines/engine.js';
import type { Family } from './problem-family.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { frontierOf } from '#domain/optimisation/frontier.js';
import { keptChoice, objectiveFrontier } from '#domain/optimisation/objective-frontier.js';
import { metricSquare } from '#kernels/optimisation/program/metric.js';
import { oneSidedPrices } from '#domain/optimisation/explanation/one-sided-prices.js';
import { processMs } from '../../measure.js';
import { refusalOf } from '#domain/optimisation/unsolved.js';
import { rowCostsOf } from '#domain/optimisation/explanation/row-costs.js';
import { rowSides } from '#domain/optimisation/report.js';
import { sensitivitiesOf } from '#domain/optimisation/explanation/sensitivities.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { tailGoal, tailSlopes, type TailMeasure } from '#domain/objectives/tail.js';

const CONFIDENCE = 0.95;

/** One row a class, near the index and not satisfied by it, or binding along the frontier. */
export function rowsOf(family: Family): Readonly<Record<string, object>> {
  const { index, identifiers } = family;
  const names = index.length;
  const volatility = Math.sqrt(metricSquare(family.metric, index));
  const effective = 1 / index.reduce((sum, weight) => sum + weight * weight, 0);
  const largest = index.reduce((most, weight) => Math.max(most, weight));
  const pick = (from: number, every: number) => identifiers.filter((_, i) => i % every === from);
  const tailOf = (measure: TailMeasure) => {
    const slopes = tailSlopes(tailGoal(measure, CONFIDENCE, family.returns, names), index);
    return slopes.reduce((sum, slope, i) => sum + slope * index[i]!, 0);
  };
  return {
    FullInvestment: {},
    WeightSum: { lower: 0.95, upper: 0.97 },
    LongOnly: {},
    PositionBounds: { upper: 0.7 * largest },
    RelativePositionBounds: { lower: 0.3, upper: 3 },
    ActiveBounds: { lower: -0.5 * largest, upper: 0.02 },
    GroupBounds: { field: 'SECTOR', upper: 0.11 },
    ActiveGroupBounds: { field: 'SECTOR', groups: ['S1', 'S2'], lower: 0.005, upper: 0.03 },
    Turnover: { limit: 0.25, reference: 'previous' },
    TradeSize: { upper: 0.6 * largest, reference: 'previous' },
    TrackingError: { limit: 0.08 },
    Volatility: { limit: 0.99 * volatility },
    CVaR: { limit: 0.99 * tailOf('loss'), confidence: CONFIDENCE },
    CDaR: { limit: 0.99 * tailOf('drawdown'), confidence: CONFIDENCE },
    ActiveShare: { limit: 0.3 },
    EffectiveNumber: { minimum: 1.1 * effective },
    FactorExposure: { field: 'X', upper: -0.05 },
    WeightedAverage: { field: 'X', relative: true, upper: 0.98 },
    Beta: { upper: 0.99 },
    Liquidity: { notional: 4e9, participation: 0.2, days: 20 },
    LinearConstraint: { coefficients: Object.fromEntries(pick(3, 25).map((name) => [name, 1])), lower: 0.06, upper: 1 },
    Exclude: { identifiers: pick(7, 40) },
    Freeze: { identifiers: pick(11, 40), reference: 'previous' },
    Cardinality: { maximum: Math.round(0.4 * names) },
    MinimumHolding: { threshold: 0.1 / names },
    GroupCardinality: { field: 'SECTOR', maximum: Math.round(0.05 * names) },
    Concentration5_10_40: { single: 0.9 * largest, trigger: 0.4 * largest, aggregate: 0.5 },
    ConcentrationRIC: { single: largest, trigger: 0.4 * largest, aggregate: 0.5 },
  };
}

/** The cost of a problem in an optimisation run. */
export interface Cost {
  /** Milliseconds of processor of the solve, of both frontiers, and of prices, sensitivities and costs of rows, or of a conflict. */
  readonly solve: number;
  readonly frontier: number;
  readonly explained: number;
  readonly state: 'solved' | 'not converged' | 'infeasible';
  /** Classes a row of which binds at the optimum. */
  readonly binding: readonly string[];
}

/** Of the solve and its frontiers: what is held to the parts of a combination. */
export function solvedMs({ solve, frontier }: Cost): number {
  return solve + frontier;
}

export function costOf(engine: Engine, problem: Problem, means: Float64Array): Cost {
  const solvers = { solver: createSolver(engine), algebra: engine };
  return engine.scope((): Cost => {
    const begun = processMs();
    const outcome = solveProblem(solvers, problem);
    const solved = processMs();
    const solve = solved - begun;
    if (outcome.kind !== 'solved') {
      refusalOf(solvers, { problem, outcome });
      return { solve, frontier: 0, explained: processMs() - solved, state: 'infeasible', binding: [] };
    }
    const { solution } = outcome;
    const traced = { solver: solvers.solver, problem, means, restriction: keptChoice(problem, solution.weights) };
    const frontier = frontierOf({ ...traced, riskFreeRate: 0 });
    if (frontier !== null) objectiveFrontier({ ...traced, most: frontier.most, solution });
    const drawn = processMs();
    const sides = rowSides(problem, solution);
    const explained = { problem, solution, sides };
    const { dependent } = oneSidedPrices(solvers, explained);
    sensitivitiesOf(solvers, explained, { dependent });
    rowCostsOf(solvers, explained);
    const bound = sides.filter(({ isBinding, placed }) => isBinding && placed.origin.index !== null);
    return {
      solve,
      frontier: drawn - solved,
      explained: processMs() - drawn,
      state: isOptimal(checkKkt(solution.assembled.program, solution.answer.point)) ? 'solved' : 'not converged',
      binding: [...new Set(bound.map(({ placed }) => placed.origin.type))],
    };
  });
}
