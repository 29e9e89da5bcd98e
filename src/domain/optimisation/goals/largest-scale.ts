import { computeNormLength } from '#kernels/optimisation/program/norms.js';
import { sumKinks, type Program } from '#kernels/optimisation/program/program.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';

/** Maximum distance from one at which a scale counts as one. */
const SCALE_TOLERANCE = 1e-12;

/** Number of bisection steps towards the scale at which a limit on trades or a norm begins to bind. */
const BISECTION_STEPS = 60;

/** Scale above which the weights count as unbounded. */
const SCALE_MAX = 1e6;

/** Returns the largest multiple of a portfolio, at least one, that the rows of a program allow. */
export function findLargestScale(program: Program, { point: { x } }: Pick<ProgramResult, 'point'>): number {
  const { n, lower, upper, rows } = program;
  let scale = SCALE_MAX;
  const limitScale = (value: number, least: number, most: number) => {
    if (value > 0 && Number.isFinite(most)) scale = Math.min(scale, Math.max(most / value, 1));
    if (value < 0 && Number.isFinite(least)) scale = Math.min(scale, Math.max(least / value, 1));
  };
  for (let i = 0; i < n; i++) limitScale(x[i]!, lower[i]!, upper[i]!);
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    limitScale(value, rows.lower[r]!, rows.upper[r]!);
  }
  if (scale <= 1 + SCALE_TOLERANCE || scale === SCALE_MAX) return 1;
  return findScaleWithinLimits(program, x, scale);
}

/** Returns the largest scale, at most `most`, that satisfies the limits on trades and norms. */
function findScaleWithinLimits(program: Program, x: Float64Array, most: number): number {
  const isWithinLimits = (scale: number) => {
    const scaledPoint = x.map((value) => value * scale);
    return (
      program.kinks.every((kink) => kink.limit === null || sumKinks(kink, scaledPoint) <= kink.limit) &&
      program.norms.every((norm) => computeNormLength(program, norm, scaledPoint) <= norm.radius)
    );
  };
  if (isWithinLimits(most)) return most;
  let [near, far] = [1, most];
  for (let step = 0; step < BISECTION_STEPS; step++) {
    const middle = (near + far) / 2;
    if (isWithinLimits(middle)) near = middle;
    else far = middle;
  }
  return near <= 1 + SCALE_TOLERANCE ? 1 : near;
}
