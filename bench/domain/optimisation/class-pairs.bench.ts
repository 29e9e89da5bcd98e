import { CONSTRAINT_CLASSES } from '#domain/constraints/catalogue.js';
import { tailGoal, tailSlopes, type TailMeasure } from '#domain/objectives/tail.js';
import { frontierOf } from '#domain/optimisation/frontier.js';
import { nonConvexRows } from '#domain/optimisation/problem.js';
import { rowSides } from '#domain/optimisation/report.js';
import { restrictionOf, shortSide, supportOf } from '#domain/optimisation/restriction.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import { metricSquare } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { problemFamily } from './problem-family.js';

/**
 * Every class of constraints by itself and every pair of them, binding, with the frontier of 21 points: what a combination costs
 * beside its parts, which is at most four times as much. PAIRS_NAMES sets the number of names (500), PAIRS_CLASSES the classes,
 * PAIRS_EVERY=25 takes every 25th pair: all of them need half an hour.
 */
const NAMES = Number(process.env['PAIRS_NAMES'] ?? 500);
const ONLY = process.env['PAIRS_CLASSES']?.split(',');
const EVERY = Number(process.env['PAIRS_EVERY'] ?? 1);
const RATIO_MAX = 4;
const CONFIDENCE = 0.95;
/** Combinations below this are not distinguished from noise, in milliseconds. */
const NEGLIGIBLE = 50;

const engine = wasmEngine();
const family = problemFamily(NAMES, 1260);
const volatility = Math.sqrt(metricSquare(family.metric, family.index));
const effective = 1 / family.index.reduce((sum, weight) => sum + weight * weight, 0);
const pick = (from: number, every: number) => family.identifiers.filter((_, i) => i % every === from);
const tailOf = (measure: TailMeasure) => {
  const slopes = tailSlopes(tailGoal(measure, CONFIDENCE, family.returns, NAMES), family.index);
  return slopes.reduce((sum, slope, i) => sum + slope * family.index[i]!, 0);
};
const largest = [...family.index].toSorted((a, b) => b - a);

/** One row a class, near the index and not satisfied by it, or binding along the frontier. */
const ROWS: Readonly<Record<string, object>> = {
  FullInvestment: {},
  WeightSum: { lower: 0.95, upper: 0.97 },
  LongOnly: {},
  PositionBounds: { upper: 0.7 * largest[0]! },
  RelativePositionBounds: { lower: 0.3, upper: 3 },
  ActiveBounds: { lower: -0.5 * largest[0]!, upper: 0.02 },
  GroupBounds: { field: 'SECTOR', upper: 0.11 },
  ActiveGroupBounds: { field: 'SECTOR', groups: ['S1', 'S2'], lower: 0.005, upper: 0.03 },
  Turnover: { limit: 0.25, reference: 'previous' },
  TradeSize: { upper: 0.6 * largest[0]!, reference: 'previous' },
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
  Cardinality: { maximum: Math.round(0.4 * NAMES) },
  MinimumHolding: { threshold: 0.1 / NAMES },
  GroupCardinality: { field: 'SECTOR', maximum: Math.round(0.05 * NAMES) },
  Concentration5_10_40: { single: 0.9 * largest[0]!, trigger: 0.4 * largest[0]!, aggregate: 0.5 },
  ConcentrationRIC: { single: largest[0]!, trigger: 0.4 * largest[0]!, aggregate: 0.5 },
};

interface Cost {
  /** Milliseconds of processor of the solve and of the frontier. */
  readonly solve: number;
  readonly frontier: number;
  readonly isSolved: boolean;
  readonly isConverged: boolean;
  /** Whether a row of each class binds at the optimum. */
  readonly binding: readonly string[];
}

const classes = CONSTRAINT_CLASSES.map(({ type }) => type).filter((type) => ONLY === undefined || ONLY.includes(type));
costOf(['Exclude']); // Compiles what all others run.
const alone = new Map(classes.map((type) => [type, costOf([type])]));
console.log(`${NAMES} names, 1260 sessions: milliseconds of processor to solve, and for the frontier`);
for (const [type, cost] of alone) console.log(`  ${type.padEnd(24)} ${line(cost)}`);
const pairs = classes
  .flatMap((a, i) => classes.slice(i + 1).map((b) => ({ a, b })))
  .filter((_, position) => position % EVERY === 0)
  .map(({ a, b }) => ({ a, b, cost: costOf([a, b]) }));
const rated = pairs.map((pair) => ({
  ...pair,
  ratio: total(pair.cost) / Math.max(NEGLIGIBLE, total(alone.get(pair.a)!) + total(alone.get(pair.b)!)),
}));
console.log(
  `${pairs.length} pairs, ${pairs.filter(({ cost }) => !cost.isSolved).length} without an answer, ${pairs.filter(({ cost }) => cost.isSolved && !cost.isConverged).length} not converged; the slowest ten:`,
);
for (const { a, b, cost, ratio } of rated.toSorted((p, q) => total(q.cost) - total(p.cost)).slice(0, 10))
  console.log(`  ${`${a} + ${b}`.padEnd(44)} ${line(cost)}, ${ratio.toFixed(1)}x its parts`);
const slow = rated
  .filter(({ ratio, cost }) => ratio > RATIO_MAX && cost.isSolved)
  .toSorted((p, q) => q.ratio - p.ratio);
console.log(`${slow.length} pairs above ${RATIO_MAX}x their parts${slow.length > 0 ? ':' : ''}`);
for (const { a, b, cost, ratio } of slow)
  console.log(`  ${`${a} + ${b}`.padEnd(44)} ${line(cost)}, ${ratio.toFixed(1)}x`);

function total({ solve, frontier }: Cost): number {
  return solve + frontier;
}

function line({ solve, frontier, isSolved, isConverged, binding }: Cost): string {
  const state = isSolved
    ? `${isConverged ? '' : ', NOT CONVERGED'}${binding.length > 0 ? `, binding ${binding.join(' ')}` : ''}`
    : ', infeasible';
  return `${solve.toFixed(0).padStart(6)} ${frontier.toFixed(0).padStart(6)}${state}`;
}

function costOf(types: readonly string[]): Cost {
  const problem = family.problemOf(types.map((type) => ({ type, params: ROWS[type] })));
  const solvers = { solver: createSolver(engine), algebra: engine };
  return engine.scope(() => {
    const begin = process.cpuUsage().user;
    const outcome = solveProblem(solvers, problem);
    const solved = process.cpuUsage().user;
    if (outcome.kind !== 'solved')
      return { solve: (solved - begin) / 1e3, frontier: 0, isSolved: false, isConverged: false, binding: [] };
    const { solution } = outcome;
    const rows = nonConvexRows(problem)
      .map(({ row }) => row)
      .filter(({ form }) => form !== 'concentration');
    const restriction =
      nonConvexRows(problem).length === 0
        ? undefined
        : restrictionOf(rows, {
            held: supportOf(solution.weights),
            short: shortSide(solution.weights),
            large: [],
            isFinal: true,
          });
    frontierOf({ solver: solvers.solver, problem, means: family.means, riskFreeRate: 0, restriction });
    const traced = process.cpuUsage().user;
    const bound = new Set(
      rowSides(problem, solution)
        .filter(({ isBinding, placed }) => isBinding && placed.origin.index !== null)
        .map(({ placed }) => placed.origin.type),
    );
    return {
      solve: (solved - begin) / 1e3,
      frontier: (traced - solved) / 1e3,
      isSolved: true,
      isConverged: isOptimal(checkKkt(solution.assembled.program, solution.answer.point)),
      binding: [...bound],
    };
  });
}
