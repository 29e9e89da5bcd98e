import { objectiveOf } from '#domain/documents/optimisation-spec.js';
import { assembleProgram } from '#domain/optimisation/assemble.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { solveConvex } from '#domain/optimisation/solve-convex.js';
import type { Engine } from '#kernels/engines/engine.js';
import { metricDiagonal, metricMatrix, metricSquare } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import type { Times } from '../../../kernels/optimisation/outside-peers.js';
import { problemFamily, type Family } from '../problem-family.js';

const SESSIONS = 504;

const AVERSION = 4;

/** Largest weight, in equal shares: the index has names above it at every size. */
const CAP = 5;

/** Of a limit on the volatility over the least that the other rows allow. */
const ABOVE_LEAST = 1.02;

const PARAMETERS = {
  min_tracking_error: {},
  min_variance: {},
  max_utility: { risk_aversion: AVERSION },
  max_sharpe: {},
  max_return: {},
  risk_parity: {},
  max_diversification: {},
  max_decorrelation: {},
} as const;

export type ObjectiveName = keyof typeof PARAMETERS;

/** Every objective but the tails. */
export const OBJECTIVES = Object.keys(PARAMETERS) as readonly ObjectiveName[];

export interface Outcome extends Times {
  readonly value: number;
  /** Of it, until the rows were a problem. */
  readonly rowsMs: number;
}

/** One objective over so many names: solved by ours, and as others get it. */
export interface Case {
  solve(): Outcome;
  readonly problem: Problem;
  /** Of the limit that is a row of `max_return`. */
  readonly volatility: number;
}

export function createCase(engine: Engine, names: number, type: ObjectiveName): Case {
  const family = problemFamily(names, SESSIONS);
  const least = Math.sqrt(ours(engine, rowsOf(names, 'min_variance', NaN), 'min_variance', family).value);
  const rows = rowsOf(names, type, least);
  return {
    solve: () => ours(engine, rows, type, family),
    problem: family.problemOf(rows, objectiveNamed(type), engine),
    volatility: ABOVE_LEAST * least,
  };
}

/** @param least volatility within the other rows */
function rowsOf(names: number, type: ObjectiveName, least: number): readonly object[] {
  if (type === 'risk_parity') return [];
  return [
    { type: 'PositionBounds', params: { upper: CAP / names } },
    { type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.02, upper: 0.02 } },
    { type: 'Beta', params: { lower: 0.95, upper: 1.05 } },
    ...(type === 'max_return' ? [{ type: 'Volatility', params: { limit: ABOVE_LEAST * least } }] : []),
  ];
}

const objectiveNamed = (type: ObjectiveName) => objectiveOf({ type, ...PARAMETERS[type] });

function ours(engine: Engine, rows: readonly object[], type: ObjectiveName, family: Family): Outcome {
  const begin = process.cpuUsage();
  const began = performance.now();
  const problem = family.problemOf(rows, objectiveNamed(type), engine);
  const stated = process.cpuUsage(begin);
  const solution = engine.scope(() => solveConvex(createSolver(engine), problem));
  const clockMs = performance.now() - began;
  const { user, system } = process.cpuUsage(begin);
  if (solution === undefined) throw new Error(`${family.identifiers.length} names, ${type}: no answer`);
  return {
    ms: (user + system) / 1000,
    clockMs,
    value: valueOf(problem, type, solution.weights),
    rowsMs: (stated.user + stated.system) / 1000,
  };
}

/** The objective as it is made small, at any weights: as objectives.py has it. */
export function valueOf(
  { goal, metric, index, expectedReturns }: Problem,
  type: ObjectiveName,
  x: Float64Array,
): number {
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

/** The case as objectives.py reads it. */
export function bytesOf({ problem, volatility }: Case): Buffer {
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
