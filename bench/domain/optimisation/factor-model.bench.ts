import { ConstraintRow } from '#domain/constraints/constraint-row.js';
import { readObjective } from '#domain/documents/optimisation-spec.js';
import { createProblem, type ProblemInput } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/solve-convex.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createFactorMetric } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

/**
 * Measures every objective except tail objectives, with the loadings of 40 factors. The time counts from the rows of a
 * request to the weights. Prints three processor times: the first solve of an objective in a process that has already
 * solved other objectives, and the median and the minimum of seven solves. The command line selects numbers of
 * securities.
 */
const GOALS_MS: Readonly<Record<number, number>> = { 2668: 50, 5000: 200 };
const FACTORS = 40;
const SECTORS = 11;
const ROUNDS = 7;
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
const sizes = process.argv
  .slice(2)
  .map(Number)
  .filter((size) => size > 0);
for (const names of sizes.length > 0 ? sizes : [2668, 5000]) {
  const input = createFamily(names);
  for (const objective of OBJECTIVES) {
    const times = Array.from({ length: ROUNDS }, () => measureSolve(input, objective));
    const sortedTimes = times.toSorted((a, b) => a - b);
    const goal = GOALS_MS[names];
    console.log(
      `${String(names).padStart(5)} ${objective.type.padEnd(20)} first ${times[0]!.toFixed(1)} ms, median ${sortedTimes[Math.floor(ROUNDS / 2)]!.toFixed(1)}, least ${sortedTimes[0]!.toFixed(1)}${goal === undefined ? '' : `, goal ${goal}`}`,
    );
  }
}

type Input = Omit<ProblemInput, 'rows' | 'objective'>;

function measureSolve(input: Input, objective: (typeof OBJECTIVES)[number]): number {
  const names = input.identifiers.length;
  const begin = process.cpuUsage();
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
  const { user, system } = process.cpuUsage(begin);
  if (solution === undefined) throw new Error(`${names} names, ${objective.type}: no answer`);
  return (user + system) / 1000;
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
