import { ConstraintRow } from '#domain/definition/constraint-class.js';
import { readObjective } from '#domain/definition/optimisation.js';
import { createProblem, type ProblemInput } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/convex-solve.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { computeMetricDiagonal, createFactorMetric, multiplyMetric } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { formatTime, measureTask, type TaskTime } from '../../measure.js';
import { readSizes } from '../../variables.js';
import { createProblemFamily } from './problem-family.js';

/**
 * Measures every objective except tail objectives with the loadings of 40 factors, and risk parity with the returns of
 * 504 sessions. The time counts from the rows of a request to the weights. Prints the median processor time of seven
 * solves after two others, and its margin of error. The command line selects numbers of securities.
 */
const GOALS_MS: Readonly<Record<number, number>> = { 2668: 50, 5000: 200 };
const PARITY_GOALS_MS: Readonly<Record<number, number>> = { 1000: 50 };
const FACTORS = 40;
const SESSIONS = 504;
const SECTORS = 11;
const TERMS = { warmUps: 2, rounds: 7 };
const OBJECTIVES: readonly { readonly type: string; readonly risk_aversion?: number }[] = [
  { type: 'min_tracking_error' },
  { type: 'min_variance' },
  { type: 'max_utility', risk_aversion: 4 },
  { type: 'max_sharpe' },
  { type: 'risk_parity' },
  { type: 'max_diversification' },
  { type: 'max_decorrelation' },
];

const engine = openWasmEngine();
for (const names of readSizes([2668, 5000])) {
  const input = createFamily(names);
  for (const objective of OBJECTIVES) {
    const time = measureTask(() => solve(input, objective), TERMS);
    printTime({ names, label: objective.type, time, goal: GOALS_MS[names] });
  }
}
for (const names of readSizes([334, 1000, 2000])) measureRiskParity(names);

/** Measures a portfolio in which all securities contribute the same risk, with the difference from equal shares. */
function measureRiskParity(names: number): void {
  const family = createProblemFamily(names, SESSIONS);
  const objective = readObjective({ type: 'risk_parity' });
  let distance = Number.NaN;
  const time = measureTask(() => {
    const problem = family.createProblem([], objective, engine);
    const solution = engine.scope(() => solveConvex(createSolver(engine), problem));
    if (solution === undefined) throw new Error(`${names} names: no answer`);
    distance = computeDistanceFromParity(problem.metric, solution.weights);
  }, TERMS);
  printTime({ names, label: `risk_parity, ${SESSIONS} sessions`, time, goal: PARITY_GOALS_MS[names] });
  console.log(`      contributions equal to ${distance.toExponential(1)}`);
}

interface PrintedTime {
  readonly names: number;
  readonly label: string;
  readonly time: TaskTime;
  readonly goal: number | undefined;
}

function printTime({ names, label, time, goal }: PrintedTime): void {
  console.log(
    `${String(names).padStart(5)} ${label.padEnd(26)} ${formatTime(time)}${goal === undefined ? '' : `, goal ${goal}`}`,
  );
}

/** Returns the largest relative difference between a risk contribution and the equal share. */
function computeDistanceFromParity(
  metric: ReturnType<typeof createProblemFamily>['metric'],
  weights: Float64Array,
): number {
  const force = new Float64Array(weights.length);
  multiplyMetric(metric, weights, force);
  const variance = weights.reduce((sum, weight, i) => sum + weight * force[i]!, 0);
  const share = variance / computeMetricDiagonal(metric).length;
  return weights.reduce((maximum, weight, i) => Math.max(maximum, Math.abs((weight * force[i]!) / share - 1)), 0);
}

type Input = Omit<ProblemInput, 'rows' | 'objective'>;

function solve(input: Input, objective: (typeof OBJECTIVES)[number]): void {
  const names = input.identifiers.length;
  const rows =
    objective.type === 'risk_parity'
      ? []
      : [
          { type: 'PositionBounds', params: { upper: Math.max(0.03, 5 / names) } },
          { type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.02, upper: 0.02 } },
          { type: 'Beta', params: { lower: 0.95, upper: 1.05 } },
          { type: 'Exclude', params: { identifiers: input.identifiers.filter((_, i) => i % 10 === 0) } },
        ];
  const problem = createProblem({
    ...input,
    objective: readObjective(objective),
    rows: rows.map((row) => ConstraintRow.parse(row)),
  });
  const solution = engine.scope(() => solveConvex(createSolver(engine), problem));
  if (solution === undefined) throw new Error(`${names} names, ${objective.type}: no answer`);
}

/** Returns a problem with a market factor, eleven sector factors and styles, and a skewed index. */
function createFamily(names: number): Input {
  const random = createCounterRandom({ seed: 5, stream: 2 });
  const identifiers = Array.from({ length: names }, (_, i) => `N${String(i).padStart(5, '0')}`);
  const loadings = new Float64Array(names * FACTORS);
  const specificVariances = new Float64Array(names);
  for (let i = 0; i < names; i++) {
    const row = i * FACTORS;
    loadings[row] = 0.16 * (1 + 0.25 * random.normal());
    loadings[row + 1 + (i % SECTORS)] = 0.1;
    for (let f = 1 + SECTORS; f < FACTORS; f++) loadings[row + f] = 0.03 * random.normal();
    specificVariances[i] = (0.15 + 0.2 * random.uniform()) ** 2;
  }
  const raw = identifiers.map(() => Math.exp(1.1 * random.normal()));
  const total = raw.reduce((sum, size) => sum + size, 0);
  const means = Float64Array.from(identifiers, () => 0.05 + 0.03 * random.normal());
  const sectors = identifiers.map((_, i) => `S${i % SECTORS}`);
  return {
    algebra: engine,
    identifiers,
    index: Float64Array.from(raw, (size) => size / total),
    metric: createFactorMetric(loadings, specificVariances),
    previous: null,
    expectedReturns: means,
    datapoints: { numbers: () => means, categories: () => sectors, medianValueTraded: () => means },
  };
}
