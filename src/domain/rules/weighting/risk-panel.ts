import { sampleCovariance } from '#kernels/moments/sample-covariance.js';
import { averageCorrelation, shrink, shrinkageTarget, type ShrinkageTarget } from '#kernels/moments/shrinkage-target.js';
import { LIMITS } from '../../limits.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import type { Unweighed } from '../weighting-class.js';

/** Share of the window's sessions on which a name must have a bar to take part. */
const COVERAGE_MIN = 0.8;

export interface RiskRequest {
  /** Trailing returns. */
  readonly window: number;
  readonly target: ShrinkageTarget;
  /** Weight on the target; null takes names / (names + observations). */
  readonly intensity: number | null;
}

export interface RiskEstimate {
  readonly kind: 'estimated';
  /** Names covered, as positions of the columns asked for. */
  readonly positions: Int32Array;
  /** Annualised, [n x n]. */
  readonly covariance: Float64Array;
}

/**
 * Shrunk covariance of the names' trailing returns as known at the decision.
 * A return needs a bar on its session and on the one before; names with too few of either are left out, then sessions on which one is missing.
 * @cost window * n^2 / 2 multiply-adds
 */
export function estimateRisk(cross: CrossSection, columns: Int32Array, { window, target, intensity }: RiskRequest): RiskEstimate | Unweighed {
  const panel = readPanel(cross, columns, window);
  const positions = coveredNames(panel);
  const rows = completeRows(panel, positions);
  const n = positions.length;
  if (n < 1 || rows.length < LIMITS.MIN_MODEL_OBSERVATIONS) {
    return {
      kind: 'refused',
      code: 'RISK_INSUFFICIENT_DATA',
      finding: { code: 'NO_WEIGHT_DATA', message: `${n} of ${columns.length} names are covered, with ${rows.length} complete observations over ${window} sessions; 1 name and ${LIMITS.MIN_MODEL_OBSERVATIONS} observations are needed.`, path: 'params.window' },
    };
  }
  const returns = new Float64Array(rows.length * n);
  rows.forEach((row, t) => {
    for (let k = 0; k < n; k++) returns[t * n + k] = panel.returns[row * columns.length + positions[k]!]!;
  });
  const covariance = new Float64Array(n * n);
  sampleCovariance(returns, n, covariance);
  const structured = shrinkageTarget(target, covariance, n, averageCorrelation(covariance, n));
  shrink(covariance, structured, intensity ?? n / (n + rows.length), LIMITS.PERIODS_PER_YEAR);
  return { kind: 'estimated', positions, covariance };
}

interface Panel {
  /** [window x n], NaN where a bar is missing. */
  readonly returns: Float64Array;
  /** Sessions of the window with a bar, by name. */
  readonly bars: Int32Array;
  /** Sessions of the window, the one before its first return included. */
  readonly sessions: number;
  readonly window: number;
  readonly names: number;
}

function readPanel({ market, session, growth }: CrossSection, columns: Int32Array, window: number): Panel {
  const factors = growth(columns);
  const first = Math.max(0, session - window);
  const names = columns.length;
  const height = session - first;
  const returns = new Float64Array(height * names).fill(NaN);
  const bars = new Int32Array(names);
  for (let at = first; at <= session; at++) {
    for (let k = 0; k < names; k++) {
      const column = columns[k]!;
      if (market.lastBar[at * market.names + column] !== at) continue;
      bars[k]!++;
      if (at > first && market.lastBar[(at - 1) * market.names + column] === at - 1) returns[(at - first - 1) * names + k] = factors[at * market.names + column]! - 1;
    }
  }
  return { returns, bars, sessions: height + 1, window: height, names };
}

function coveredNames({ returns, bars, sessions, window, names }: Panel): Int32Array {
  const covered: number[] = [];
  for (let k = 0; k < names; k++) {
    let count = 0;
    for (let t = 0; t < window; t++) if (!Number.isNaN(returns[t * names + k]!)) count++;
    if (count >= LIMITS.MIN_NAME_OBSERVATIONS && bars[k]! >= COVERAGE_MIN * sessions) covered.push(k);
  }
  return Int32Array.from(covered);
}

function completeRows({ returns, window, names }: Panel, positions: Int32Array): number[] {
  const rows: number[] = [];
  for (let t = 0; t < window; t++) if (positions.every((k) => !Number.isNaN(returns[t * names + k]!))) rows.push(t);
  return rows;
}
