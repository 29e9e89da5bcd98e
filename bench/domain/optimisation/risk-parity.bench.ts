import { readObjective } from '#domain/documents/optimisation-spec.js';
import { solveConvex } from '#domain/optimisation/solve-convex.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { computeMetricDiagonal, multiplyMetric } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { createProblemFamily } from './problem-family.js';

/**
 * Measures a portfolio in which all securities contribute the same risk, from the request to the weights: problem,
 * parity, proof. Prints the minimum, the first and the median processor time of seven solves. Goal for 1,000
 * securities: 50 ms. The command line selects numbers of securities.
 */
const LIMITS_MS: Readonly<Record<number, number>> = { 1000: 50 };
const SESSIONS = 504;
const ROUNDS = 7;

const engine = openWasmEngine();
const objective = readObjective({ type: 'risk_parity' });
const sizes = process.argv
  .slice(2)
  .map(Number)
  .filter((size) => size > 0);
for (const names of sizes.length > 0 ? sizes : [334, 1000, 2000]) {
  const family = createProblemFamily(names, SESSIONS);
  const times: number[] = [];
  let distance = Number.NaN;
  for (let round = 0; round < ROUNDS; round++) {
    const begin = process.cpuUsage();
    const problem = family.createProblem([], objective, engine);
    const solution = engine.scope(() => solveConvex(createSolver(engine), problem));
    const { user, system } = process.cpuUsage(begin);
    times.push((user + system) / 1000);
    if (solution === undefined) throw new Error(`${names} names: no answer`);
    distance = computeDistanceFromParity(problem.metric, solution.weights);
  }
  const sortedTimes = times.toSorted((a, b) => a - b);
  const limit = LIMITS_MS[names];
  console.log(
    `risk_parity ${String(names).padStart(5)} names: first ${times[0]!.toFixed(0)} ms, median ${sortedTimes[Math.floor(ROUNDS / 2)]!.toFixed(1)}, least ${sortedTimes[0]!.toFixed(1)}${limit === undefined ? '' : `, goal ${limit}`}; contributions equal to ${distance.toExponential(1)}`,
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
