import { normLength } from '#kernels/optimisation/program/norms.js';
import { kinkSum, type Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';

/** Scales closer to one are one. */
const SAME = 1e-12;

/** Halvings towards the scale at which a limit on trades or a norm begins to bind. */
const HALVINGS = 60;

/** Scales beyond this are as good as none: no row bounds the weights. */
const SCALE_MAX = 1e6;

/** How much of a portfolio the rows of a programme allow at most, as a multiple of it; at least one. */
export function largestScale(program: Program, { point: { x } }: Pick<ProgramAnswer, 'point'>): number {
  const { n, lower, upper, rows } = program;
  let scale = SCALE_MAX;
  const limit = (value: number, least: number, most: number) => {
    if (value > 0 && Number.isFinite(most)) scale = Math.min(scale, Math.max(most / value, 1));
    if (value < 0 && Number.isFinite(least)) scale = Math.min(scale, Math.max(least / value, 1));
  };
  for (let i = 0; i < n; i++) limit(x[i]!, lower[i]!, upper[i]!);
  for (let r = 0; r < rows.count; r++) {
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * x[i]!;
    limit(value, rows.lower[r]!, rows.upper[r]!);
  }
  if (scale <= 1 + SAME || scale === SCALE_MAX) return 1;
  return withinLimits(program, x, scale);
}

/** The largest scale up to one that keeps limits on trades and norms. */
function withinLimits(program: Program, x: Float64Array, most: number): number {
  const holds = (scale: number) => {
    const at = x.map((value) => value * scale);
    return (
      program.kinks.every((kink) => kink.limit === null || kinkSum(kink, at) <= kink.limit) &&
      program.norms.every((norm) => normLength(program, norm, at) <= norm.radius)
    );
  };
  if (holds(most)) return most;
  let [near, far] = [1, most];
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (near + far) / 2;
    if (holds(middle)) near = middle;
    else far = middle;
  }
  return near <= 1 + SAME ? 1 : near;
}
