import { assembleProgram } from '#domain/optimisation/assemble.js';
import { metricProduct } from '#domain/optimisation/metric-product.js';
import type { Problem } from '#domain/optimisation/problem.js';
import { metricDiagonal, metricMatrix } from '#kernels/optimisation/program/metric.js';
import type { Quadratic } from '../../../kernels/optimisation/quadratic.js';

export interface Stated {
  readonly program: Quadratic;
  weightsOf(x: Float64Array): Float64Array;
}

/** The objective as a quadratic programme, homogenised for a ratio; null where it is none. */
export function asQuadratic(problem: Problem): Stated | null {
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
