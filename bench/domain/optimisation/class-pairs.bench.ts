import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/optimality.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { computeFrontier, computeObjectiveFrontier, fixChoice } from '#domain/optimisation/frontier.js';
import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import { computeOneSidedPrices, computeRowCosts, computeSensitivities } from '#domain/optimisation/sensitivities.js';
import { measureProcessMs } from '../../measure.js';
import { refuseInfeasible } from '#domain/optimisation/derived-index.js';
import { listRowSides } from '#domain/optimisation/report.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { computeTailSlopes, createTailGoal, type TailMeasure } from '#domain/definition/tail-risk.js';
import { createProblemFamily, type Family } from './problem-family.js';
import { readChoice, readChoices, readNumber, readText, refuse } from '../../variables.js';

/**
 * Measures every class of constraints alone and every pair of classes, binding, with both frontiers: the cost of a
 * combination relative to its parts. Goal: at most four times the cost of the parts. Reports pairs without a solution and
 * classes that bind at no optimum. Costs are stored and not measured again, so that the grid can be run in pieces.
 *
 *     PAIRS_NAMES=500            number of securities
 *     PAIRS_CLASSES=Turnover,..  only these classes
 *     PAIRS_WITH=Turnover        only pairs that contain one of these classes
 *     PAIRS_PART=2/5             the second of five parts of the pairs; every part contains the single classes
 *     PAIRS_SECONDS=300          ends after this number of seconds
 *     PAIRS_RESULTS=FILE         file of stored costs. Default: bench/results/class-pairs/<names>.json
 *     PAIRS_AGAIN=slow           repeats combinations above four times the cost of their parts; `all` repeats all
 */
const CONFIDENCE = 0.95;
const SECURITIES = readNumber('PAIRS_NAMES');
const CLASSES = CONSTRAINT_CLASSES.map(({ type }) => type);
const PARTNER_CLASSES = readChoices('PAIRS_WITH', CLASSES);
const [PART, PARTS] = readText('PAIRS_PART')!.split('/').map(Number) as [number, number];
if (!(PART >= 1 && PART <= PARTS)) refuse(`PAIRS_PART is "${readText('PAIRS_PART')}"; it looks like 2/5`);
const SECONDS = readNumber('PAIRS_SECONDS');
const COST_FILE = readText('PAIRS_RESULTS') ?? `bench/results/class-pairs/${SECURITIES}.json`;
const REPETITION = readChoice('PAIRS_AGAIN', ['slow', 'all']);
const RATIO_MAX = 4;
/** Time in milliseconds below which a combination is not distinguished from noise. */
const NEGLIGIBLE_MS = 50;

const engine = openWasmEngine();
const family = createProblemFamily(SECURITIES, 1260);
const rows = createRows(family);
const classes = readChoices('PAIRS_CLASSES', CLASSES);
const getKey = (types: readonly string[]) => types.join(' + ');
const pairs = classes.flatMap((a, i) => classes.slice(i + 1).map((b) => [a, b]));
const part = pairs
  .filter((types) => types.some((type) => PARTNER_CLASSES.includes(type)))
  .filter((_, position) => position % PARTS === PART - 1);
const keptCosts = new Map<string, Cost>(Object.entries(readKept()));

for (const types of [['Exclude'], ['Turnover'], ['Exclude', 'Turnover']]) measureCost(types); // Compiles the code that all combinations run.
const deadline = performance.now() + 1000 * SECONDS;
for (const types of [...classes.map((type) => [type]), ...part]) {
  const keptCost = keptCosts.get(getKey(types));
  const isWanted =
    keptCost === undefined || REPETITION === 'all' || (REPETITION === 'slow' && (findRatio(types) ?? 0) > RATIO_MAX);
  if (!isWanted) continue;
  if (performance.now() > deadline) break;
  keptCosts.set(getKey(types), measureCost(types));
  // Compilation and garbage collection during the run are not costs of the pair.
  if (types.length > 1 && (findRatio(types) ?? 0) > RATIO_MAX) keptCosts.set(getKey(types), measureLesserCost(types));
  storeCosts();
}
report();

function measureCost(types: readonly string[]): Cost {
  return findCost(engine, family.createProblem(types.map((type) => ({ type, params: rows[type] }))), family.means);
}

function measureLesserCost(types: readonly string[]): Cost {
  const [keptCost, repeatedCost] = [keptCosts.get(getKey(types))!, measureCost(types)];
  return computeSolvedMs(repeatedCost) < computeSolvedMs(keptCost) ? repeatedCost : keptCost;
}

/**
 * Returns the cost of a pair of constraint classes divided by the sum of the costs of its two classes. Returns
 * undefined if a cost is unknown or the pair is infeasible.
 */
function findRatio(types: readonly string[]): number | undefined {
  const pairCost = keptCosts.get(getKey(types));
  const parts = types.map((type) => keptCosts.get(type));
  if (pairCost === undefined || pairCost.state === 'infeasible' || parts.includes(undefined)) return undefined;
  return (
    computeSolvedMs(pairCost) /
    Math.max(
      NEGLIGIBLE_MS,
      parts.reduce((sum, each) => sum + computeSolvedMs(each!), 0),
    )
  );
}

function readKept(): Record<string, Cost> {
  try {
    return JSON.parse(readFileSync(COST_FILE, 'utf8')) as Record<string, Cost>; // written by `storeCosts`
  } catch {
    return {}; // none yet
  }
}

/** Stores the costs, one per line, in the order of the grid. */
function storeCosts(): void {
  const order = new Map([...classes.map((type) => [type]), ...pairs].map((types, k) => [getKey(types), k]));
  const lines = [...keptCosts]
    .toSorted(([a], [b]) => (order.get(a) ?? 0) - (order.get(b) ?? 0))
    .map(([key, cost]) => `${JSON.stringify(key)}: ${JSON.stringify(cost, roundNumber)}`);
  mkdirSync(dirname(COST_FILE), { recursive: true });
  writeFileSync(COST_FILE, `{\n${lines.join(',\n')}\n}\n`);
}

function roundNumber(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(10 * value) / 10 : value;
}

function report(): void {
  console.log(
    `${SECURITIES} names, 1260 sessions: milliseconds of processor to solve, for the frontiers, and to explain`,
  );
  for (const type of classes)
    if (keptCosts.has(type)) console.log(`  ${type.padEnd(44)} ${formatLine(keptCosts.get(type)!)}`);
  const measuredPairs = pairs.flatMap((types) => {
    const cost = keptCosts.get(getKey(types));
    return cost === undefined ? [] : [{ key: getKey(types), cost, ratio: findRatio(types) }];
  });
  const countInState = (state: Cost['state']) => measuredPairs.filter(({ cost }) => cost.state === state).length;
  console.log(
    `${measuredPairs.length} of ${pairs.length} pairs, ${countInState('infeasible')} without an answer, ${countInState('not converged')} not converged`,
  );
  const printPairs = (title: string, pairsShown: readonly (typeof measuredPairs)[number][]) => {
    console.log(title);
    for (const { key, cost, ratio } of pairsShown)
      console.log(
        `  ${key.padEnd(44)} ${formatLine(cost)}${ratio === undefined ? '' : `, ${ratio.toFixed(1)}x its parts`}`,
      );
  };
  const withoutAnswer = measuredPairs.filter(({ cost }) => cost.state !== 'solved');
  if (withoutAnswer.length > 0) printPairs('pairs without an answer, or not converged:', withoutAnswer);
  const binding = new Set([...keptCosts.values()].flatMap((cost) => cost.binding));
  const slackTypes = classes.filter((type) => keptCosts.has(type) && !binding.has(type));
  console.log(
    slackTypes.length === 0
      ? 'every class binds at some optimum'
      : `classes that bind at no optimum, on the frontiers at most: ${slackTypes.join(' ')}`,
  );
  const sortBySize = (size: (each: (typeof measuredPairs)[number]) => number) =>
    measuredPairs.toSorted((a, b) => size(b) - size(a));
  const solvedPairs = sortBySize(({ cost }) => computeSolvedMs(cost)).filter(({ cost }) => cost.state === 'solved');
  printPairs('the slowest ten that are solved:', solvedPairs.slice(0, 10));
  printPairs('the slowest ten to explain:', sortBySize(({ cost }) => cost.explained).slice(0, 10));
  const slowPairs = sortBySize(({ ratio }) => ratio ?? 0).filter(({ ratio }) => (ratio ?? 0) > RATIO_MAX);
  printPairs(`${slowPairs.length} pairs above ${RATIO_MAX}x their parts`, slowPairs);
}

function formatLine({ solve, frontier, explained, state, binding }: Cost): string {
  const timesText = [solve, frontier, explained].map((ms) => ms.toFixed(0).padStart(6)).join(' ');
  return `${timesText}${state === 'solved' ? '' : `, ${state.toUpperCase()}`}${binding.length > 0 ? `, binding ${binding.join(' ')}` : ''}`;
}

/** Returns one constraint row per class. The index almost satisfies the row, or the row binds along the frontier. */
function createRows(family: Family): Readonly<Record<string, object>> {
  const { index, identifiers } = family;
  const names = index.length;
  const volatility = Math.sqrt(computeMetricSquare(family.metric, index));
  const effectiveNumber = 1 / index.reduce((sum, weight) => sum + weight * weight, 0);
  const largest = index.reduce((maximum, weight) => Math.max(maximum, weight));
  const pick = (from: number, every: number) => identifiers.filter((_, i) => i % every === from);
  const computeTail = (measure: TailMeasure) => {
    const slopes = computeTailSlopes(
      createTailGoal(measure, CONFIDENCE, { returns: family.returns, counts: null }, names),
      index,
    );
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
    CVaR: { limit: 0.99 * computeTail('loss'), confidence: CONFIDENCE },
    CDaR: { limit: 0.99 * computeTail('drawdown'), confidence: CONFIDENCE },
    ActiveShare: { limit: 0.3 },
    EffectiveNumber: { minimum: 1.1 * effectiveNumber },
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

/** Cost of a problem in an optimisation run. */
interface Cost {
  /**
   * Processor times in ms. `solve` is the time of the solution and `frontier` the time of both frontiers. `explained`
   * is the time of shadow prices, sensitivities and costs of constraints, or of the conflict if the problem is
   * infeasible.
   */
  readonly solve: number;
  readonly frontier: number;
  readonly explained: number;
  readonly state: 'solved' | 'not converged' | 'infeasible';
  /** Classes with a row that binds at the optimum. */
  readonly binding: readonly string[];
}

/**
 * Returns the time of the solution and of both frontiers. For a pair of classes, this time is compared with the sum of
 * the times of its two classes.
 */
function computeSolvedMs({ solve, frontier }: Cost): number {
  return solve + frontier;
}

function findCost(engine: Engine, problem: Problem, means: Float64Array): Cost {
  const solvers = { solver: createSolver(engine), algebra: engine };
  return engine.scope((): Cost => {
    const startMs = measureProcessMs();
    const outcome = solveProblem(solvers, problem);
    const solvedMs = measureProcessMs();
    const solve = solvedMs - startMs;
    if (outcome.kind !== 'solved') {
      refuseInfeasible(solvers, { problem, outcome });
      return { solve, frontier: 0, explained: measureProcessMs() - solvedMs, state: 'infeasible', binding: [] };
    }
    const { solution } = outcome;
    const frontierInput = { solver: solvers.solver, problem, means, restriction: fixChoice(problem, solution.weights) };
    const frontier = computeFrontier({ ...frontierInput, riskFreeRate: 0 });
    if (frontier !== null) computeObjectiveFrontier({ ...frontierInput, most: frontier.most, solution });
    const frontierMs = measureProcessMs();
    const sides = listRowSides(problem, solution);
    const explanationInput = { problem, solution, sides };
    const { dependent } = computeOneSidedPrices(solvers, explanationInput);
    computeSensitivities(solvers, explanationInput, { dependent });
    computeRowCosts(solvers, explanationInput);
    const bound = sides.filter(({ isBinding, placed }) => isBinding && placed.origin.index !== null);
    return {
      solve,
      frontier: frontierMs - solvedMs,
      explained: measureProcessMs() - frontierMs,
      state: isOptimal(checkKkt(solution.assembled.program, solution.answer.point)) ? 'solved' : 'not converged',
      binding: [...new Set(bound.map(({ placed }) => placed.origin.type))],
    };
  });
}
