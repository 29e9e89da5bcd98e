import { computeMetricTrace } from '../program/metric.js';
import type { Program } from '../program/program.js';

export interface Work {
  readonly free: Int32Array;
  freeCount: number;
  /** Indices of the active constraints of the equality problem: rows first, then kinks, then norms. */
  readonly active: Int32Array;
  activeCount: number;
  readonly diagonal: Float64Array;
  readonly offset: Float64Array;
  readonly product: Float64Array;
  readonly gradient: Float64Array;
  /** P (x - centre) at the point `forcedAt`. */
  readonly force: Float64Array;
  readonly forcedAt: Float64Array;
  hasForce: boolean;
  gradientScale: number;
  /** Minimum of `gradientScale`: the force of a move of a variable by 0.001 at the mean curvature. */
  readonly leastForce: number;
  readonly meanCurvature: number;
  readonly step: Float64Array;
  readonly change: Float64Array;
}

export function createActiveSetWork(program: Program): Work {
  const { n, rows, kinks, norms } = program;
  const count = rows.count + kinks.length + norms.length;
  const mean = computeMeanCurvature(program);
  return {
    free: new Int32Array(n),
    freeCount: 0,
    active: new Int32Array(count),
    activeCount: 0,
    diagonal: new Float64Array(n),
    offset: new Float64Array(n),
    product: new Float64Array(n),
    gradient: new Float64Array(n),
    force: new Float64Array(n),
    forcedAt: new Float64Array(n),
    hasForce: false,
    gradientScale: 0,
    leastForce: 1e-3 * mean,
    meanCurvature: mean > 0 ? mean : 1,
    step: new Float64Array(n),
    change: new Float64Array(count),
  };
}

export function computeMeanCurvature({ n, metric, curvature, ridge }: Program): number {
  if (metric === null || curvature === 0) return ridge;
  return ridge + (curvature * computeMetricTrace(metric)) / Math.max(n, 1);
}
