import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { objectiveOf } from '#domain/documents/optimisation-spec.js';
import { assembleProgram } from '#domain/optimisation/assemble.js';
import { metricProduct } from '#domain/optimisation/metric-product.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/solve-convex.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { metricDiagonal, metricMatrix, metricSquare } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import {
  external,
  npmClarabel,
  npmHighs,
  scratch,
  type Peer,
  type Quadratic,
} from '../../kernels/optimisation/outside-peers.js';
import { problemFamily, type Family } from './problem-family.js';

/**
 * Every objective but the tails, which `tails` has, beside cvxopt, SLSQP (of scipy), quadprog (of R), HiGHS and Clarabel: processor time
 * in turns, least of three, and the distance of each optimum from ours. Ours counts from the rows as clients write them, which peers
 * get as matrices (`rows` says how much of it that is), with code that is warm as in a service. Names on the command line, OBJECTIVES=max_sharpe,risk_parity takes some; BENCH_PEERS as in the bench of the kernels. A peer that is not there says so;
 * quadprog, HiGHS and Clarabel get quadratic programmes alone.
 */
const DEFAULT = [134, 334, 667, 1334];
const SESSIONS = 504;
const ROUNDS = 3;

/** Further solves of ours in a round. */
const OWN_REPEATS = 2;

/** Solves of ours before any is timed: until so much processor time or so many have passed. */
const WARM_MS = 1_000;
const WARM_SOLVES = 40;

/** Seconds from which a peer is asked once. */
const REPEAT_SECONDS = 5;

/** Seconds that a peer may take. */
const PEER_SECONDS = 60;

const AVERSION = 4;

/** Of a limit on the volatility over the least that the other rows allow. */
const ABOVE_LEAST = 1.02;
const OBJECTIVES: readonly ({ readonly type: string } & Readonly<Record<string, unknown>>)[] = [
  { type: 'min_tracking_error' },
  { type: 'min_variance' },
  { type: 'max_utility', risk_aversion: AVERSION },
  { type: 'max_sharpe' },
  { type: 'max_return' },
  { type: 'risk_parity' },
  { type: 'max_diversification' },
  { type: 'max_decorrelation' },
];

const SCRIPT = fileURLToPath(new URL('../../../../bench/domain/optimisation/objectives.py', import.meta.url));
const python = process.env['BENCH_PYTHON'] ?? 'python3';
const engine = wasmEngine();
const quadratics: Record<string, Peer | string> = {
  quadprog: external('Rscript', 'peers.R', []),
  HiGHS: await npmHighs(),
  Clarabel: npmClarabel(),
};
for (const [name, peer] of Object.entries(quadratics))
  if (typeof peer === 'string') console.log(`${name}: absent, ${peer}`);
const pythons = ['cvxopt', 'slsqp'].filter((name) => {
  try {
    execFileSync(python, [SCRIPT, 'probe', name], { stdio: 'ignore' });
    return true;
  } catch {
    console.log(`${name}: absent`);
    return false;
  }
});

interface Outcome {
  readonly ms: number;
  readonly value: number;
  /** Of it, until the rows were a problem. */
  readonly rowsMs?: number;
}

const sizes = process.argv
  .slice(2)
  .map(Number)
  .filter((size) => size > 0);
ours([], OBJECTIVES[0]!, problemFamily(60, SESSIONS));
const only = process.env['OBJECTIVES']?.split(',');
for (const names of sizes.length > 0 ? sizes : DEFAULT)
  for (const objective of OBJECTIVES.filter(({ type }) => only?.includes(type) !== false))
    await compare(names, objective);
rmSync(scratch, { recursive: true });

async function compare(names: number, objective: (typeof OBJECTIVES)[number]): Promise<void> {
  const found = new Map<string, Outcome | string>();
  const isAsked = (name: string) => {
    const known = found.get(name);
    return known === undefined || (typeof known === 'object' && known.ms < 1000 * REPEAT_SECONDS);
  };
  const family = problemFamily(names, SESSIONS);
  const least = leastVolatility(names, family);
  for (let solves = 0, spent = 0; solves < WARM_SOLVES && spent < WARM_MS; solves++)
    spent += ours(rowsOf(names, objective.type, least), objective, family).ms;
  for (let round = 0; round < ROUNDS; round++) {
    const { problem, ...own } = ours(rowsOf(names, objective.type, least), objective, family);
    keepLeast('ours', own);
    // As often as peers repeat a solve by themselves.
    for (let more = 0; more < OWN_REPEATS && own.ms < 1000 * REPEAT_SECONDS; more++)
      keepLeast('ours', ours(rowsOf(names, objective.type, least), objective, family));
    if (round === 0) writeFileSync(join(scratch, 'case'), caseOf(problem, ABOVE_LEAST * least));
    for (const name of pythons.filter(isAsked)) attempt(name, () => byPython(name, objective.type));
    const quadratic = quadraticOf(problem);
    if (quadratic === null) continue;
    for (const [name, peer] of Object.entries(quadratics)) {
      if (typeof peer === 'string' || !isAsked(name)) continue;
      try {
        const { ms, x } = await peer(quadratic.program);
        keepLeast(name, { ms, value: valueOf(problem, objective.type, quadratic.weightsOf(x)) });
      } catch (failure) {
        found.set(name, `failed: ${String(failure).split('\n')[0]!.slice(0, 80)}`);
      }
    }
  }
  const own = found.get('ours') as Outcome; // It has no failures: they end the bench.
  for (const [name, outcome] of found)
    console.log(
      `${String(names).padStart(5)} ${objective.type.padEnd(20)} ${name.padEnd(7)} ${
        typeof outcome === 'string'
          ? outcome
          : `${outcome.ms.toFixed(1).padStart(9)} ms ${(outcome.ms / own.ms).toFixed(1).padStart(7)} x  value less ours ${((outcome.value - own.value) / Math.abs(own.value)).toExponential(1)}${outcome.rowsMs === undefined ? '' : `, rows ${outcome.rowsMs.toFixed(1)} ms`}`
      }`,
    );

  function attempt(name: string, work: () => Outcome): void {
    try {
      keepLeast(name, work());
    } catch {
      found.set(name, `no answer in ${PEER_SECONDS} s`);
    }
  }

  function keepLeast(name: string, outcome: Outcome): void {
    const before = found.get(name);
    if (typeof before !== 'object' || outcome.ms < before.ms) found.set(name, outcome);
  }
}

/** @param least volatility within the other rows */
function rowsOf(names: number, type: string, least: number): readonly object[] {
  if (type === 'risk_parity') return [];
  return [
    { type: 'PositionBounds', params: { upper: Math.max(0.03, 5 / names) } },
    { type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.02, upper: 0.02 } },
    { type: 'Beta', params: { lower: 0.95, upper: 1.05 } },
    ...(type === 'max_return' ? [{ type: 'Volatility', params: { limit: ABOVE_LEAST * least } }] : []),
  ];
}

function leastVolatility(names: number, family: Family): number {
  const { value } = ours(rowsOf(names, 'min_variance', NaN), { type: 'min_variance' }, family);
  return Math.sqrt(value);
}

function ours(rows: readonly object[], { type, ...params }: (typeof OBJECTIVES)[number], family: Family) {
  const begin = process.cpuUsage();
  const objective = objectiveOf({ type, ...params });
  const problem = family.problemOf(rows, objective, engine);
  const stated = process.cpuUsage(begin);
  const solution = engine.scope(() => solveConvex(createSolver(engine), problem));
  const { user, system } = process.cpuUsage(begin);
  if (solution === undefined) throw new Error(`${family.identifiers.length} names, ${type}: no answer`);
  return {
    problem,
    ms: (user + system) / 1000,
    value: valueOf(problem, type, solution.weights),
    rowsMs: (stated.user + stated.system) / 1000,
  };
}

/** The objective as it is made small, at any weights: as objectives.py has it. */
function valueOf({ goal, metric, index, expectedReturns }: Problem, type: string, x: Float64Array): number {
  const dot = (a: ArrayLike<number>) => x.reduce((sum, weight, i) => sum + weight * a[i]!, 0);
  const variance = metricSquare(metric, x);
  const returns = dot(expectedReturns!); // The family has them.
  switch (type) {
    case 'min_tracking_error':
      return metricSquare(
        metric,
        x.map((weight, i) => weight - index[i]!),
      );
    case 'min_variance':
      return variance;
    case 'max_utility':
      return (AVERSION / 2) * variance - returns;
    case 'max_return':
      return -returns;
    case 'max_decorrelation': {
      const deviations = metricDiagonal(metric).map(Math.sqrt);
      return metricSquare(
        metric,
        x.map((weight, i) => weight / deviations[i]!),
      );
    }
    case 'risk_parity':
      return Math.log(Math.sqrt(variance)) - x.reduce((sum, weight) => sum + Math.log(weight), 0) / x.length;
    default:
      return goal.form === 'ratio' && goal.numerator.kind === 'linear'
        ? -dot(goal.numerator.slopes) / Math.sqrt(variance)
        : NaN;
  }
}

function byPython(name: string, type: string): Outcome {
  const answer = execFileSync(python, [SCRIPT, join(scratch, 'case'), type, name], {
    encoding: 'utf8',
    env: { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 1000 * PEER_SECONDS,
  });
  const [ms, value] = answer.split(' ').map(Number) as [number, number]; // Both are printed.
  return { ms, value };
}

function caseOf(problem: Problem, volatility: number): Buffer {
  const { n, lower, upper, rows } = assembleProgram(problem).program;
  const head = Float64Array.of(n, rows.count, AVERSION, volatility);
  const parts = [
    head,
    metricMatrix(problem.metric),
    problem.expectedReturns!, // The family has them.
    problem.index,
    lower,
    upper.map((bound) => Math.min(bound, 1)),
    rows.coefficients,
    rows.lower,
    rows.upper,
  ];
  return Buffer.concat(parts.map((values) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)));
}

interface Stated {
  readonly program: Quadratic;
  weightsOf(x: Float64Array): Float64Array;
}

/** The objective as a quadratic programme, homogenised for a ratio; null where it is none. */
function quadraticOf(problem: Problem): Stated | null {
  const { goal, metric } = problem;
  const program = assembleProgram(problem).program;
  if (program.norms.length > 0 || goal.form === 'tail') return null;
  const { n, lower, upper, rows } = program;
  const each = Array.from({ length: rows.count }, (_, r) => ({
    coefficients: rows.coefficients.slice(r * n, r * n + n),
    lower: rows.lower[r]!,
    upper: rows.upper[r]!,
  }));
  const most = upper.map((bound) => Math.min(bound, 1));
  const matrix = metricMatrix(metric);
  if (goal.form === 'quadratic') {
    const deviations = metricDiagonal(metric).map(Math.sqrt);
    const scale = (i: number, j: number) => (goal.metric === 'covariance' ? 1 : deviations[i]! * deviations[j]!);
    const hessian = matrix.map((value, e) => (goal.curvature * value) / scale(Math.floor(e / n), e % n));
    const force = metricProduct(metric, goal.centre);
    const linear = goal.linear.map((value, i) => value - goal.curvature * force[i]!);
    return { program: { n, hessian, linear, lower, upper: most, rows: each }, weightsOf: (x) => x };
  }
  if (goal.numerator.kind !== 'linear') return null;
  return homogenised(matrix, goal.numerator.slopes, { n, lower, upper: most, rows: each });
}

type Bounded = Pick<Quadratic, 'n' | 'lower' | 'upper' | 'rows'>;

/** Charnes and Cooper: weights times a scale that makes the numerator one. */
function homogenised(matrix: Float64Array, slopes: Float64Array, { n, lower, upper, rows }: Bounded): Stated {
  const width = n + 1;
  const hessian = new Float64Array(width * width);
  for (let i = 0; i < n; i++) hessian.set(matrix.subarray(i * n, i * n + n), i * width);
  const wide = (values: Float64Array, last: number) => Float64Array.from([...values, last]);
  const unit = (i: number, times: number) => Float64Array.from({ length: n }, (_, j) => (i === j ? times : 0));
  const most = (values: Float64Array, bound: number) => ({
    coefficients: wide(values, -bound),
    lower: -Infinity,
    upper: 0,
  });
  const scaled = [
    { coefficients: wide(slopes, 0), lower: 1, upper: 1 },
    ...rows.flatMap(({ coefficients, lower: least, upper: bound }) =>
      least === bound
        ? [{ coefficients: wide(coefficients, -bound), lower: 0, upper: 0 }]
        : [
            most(coefficients, bound),
            most(
              coefficients.map((value) => -value),
              -least,
            ),
          ],
    ),
    ...Array.from(upper, (bound, i) => most(unit(i, 1), bound)),
  ];
  const open = new Float64Array(width).fill(Infinity);
  return {
    program: { n: width, hessian, linear: new Float64Array(width), lower: wide(lower, 0), upper: open, rows: scaled },
    weightsOf: (x) => x.slice(0, n).map((value) => value / x[n]!),
  };
}
