import { computeDotProduct } from '../numbers/dot.js';
import { multiplyMetric } from '#kernels/optimisation/program/metric.js';
import { Refusal } from '../refusals/refusal.js';
import { computeEquilibriumReturns } from './equilibrium.js';
import type { ReturnsContext } from './returns-class.js';

export interface PosteriorParams {
  readonly views: readonly {
    readonly weights: Readonly<Record<string, number>>;
    readonly value: number;
    readonly confidence: number;
  }[];
  readonly tau: number;
  readonly risk_aversion: number;
}

/**
 * Computes posterior means of expected returns: the prior pi plus tau S P' (tau P S P' + Omega)^-1 (q - P pi), with
 * diagonal Omega = (1 / confidence - 1) tau p'S p. Prior and views include the return of cash. A view with confidence
 * 1/2 has the weight of the prior; a view with confidence 1 is met exactly.
 * @throws Refusal VALIDATION_FAILED if views with confidence 1 contradict each other.
 * @cost a pass over the metric for each view, and their number cubed.
 * @source Black & Litterman (1992), Financial Analysts Journal 48(5); He & Litterman (1999); Idzorek (2005) for the
 * confidences.
 */
export function computePosteriorReturns(
  { views, tau, risk_aversion }: PosteriorParams,
  context: ReturnsContext,
): Float64Array {
  const { metric, index, cash } = context;
  const prior = computeEquilibriumReturns(metric, index, risk_aversion).map((value) => cash + value);
  const heldViews = selectViews(views, context);
  const n = index.length;
  const spread = heldViews.map(({ weights }) => {
    const product = new Float64Array(n);
    multiplyMetric(metric, weights, product);
    return product.map((value) => tau * value);
  });
  const count = heldViews.length;
  const system = new Float64Array(count * count);
  const surprise = new Float64Array(count);
  heldViews.forEach(({ weights, value, confidence }, k) => {
    for (let j = 0; j < count; j++) system[k * count + j] = computeDotProduct(weights, spread[j]!);
    system[k * count + k]! *= 1 / confidence;
    surprise[k] = value - computeDotProduct(weights, prior);
  });
  const push = solveSemidefinite(system, surprise);
  const posterior = prior.slice();
  spread.forEach((values, k) => {
    for (let i = 0; i < n; i++) posterior[i]! += push[k]! * values[i]!;
  });
  assertViewsMet(heldViews, posterior);
  return posterior;
}

interface View {
  /** Position of the view in the request. */
  readonly position: number;
  /** [N] */
  readonly weights: Float64Array;
  readonly value: number;
  readonly confidence: number;
}

/** Selects the views with positive confidence whose securities are all in the problem. */
function selectViews(views: PosteriorParams['views'], { identifiers, warn }: ReturnsContext): View[] {
  const positionByIdentifier = new Map(identifiers.map((identifier, i): [string, number] => [identifier, i]));
  return views.flatMap(({ weights: legs, value, confidence }, position) => {
    if (confidence === 0) return [];
    const absentIdentifiers = Object.keys(legs).filter((identifier) => !positionByIdentifier.has(identifier));
    if (absentIdentifiers.length > 0) {
      warn(
        `View ${position + 1} is ignored: ${absentIdentifiers.join(', ')} ${absentIdentifiers.length === 1 ? 'is' : 'are'} not in the problem.`,
        `.views[${position}]`,
      );
      return [];
    }
    const weights = new Float64Array(identifiers.length);
    for (const [identifier, weight] of Object.entries(legs)) weights[positionByIdentifier.get(identifier)!] = weight;
    return [{ position, weights, value, confidence }];
  });
}

/**
 * Smallest pivot that counts as nonzero, as a fraction of its diagonal element. A smaller pivot means that other views
 * imply this view.
 */
const PIVOT_MIN = 1e-12;

/** Solves a symmetric positive semi-definite system. The solution is zero in redundant directions. */
function solveSemidefinite(system: Float64Array, right: Float64Array): Float64Array {
  const n = right.length;
  const l = system.slice();
  const isSkipped = new Uint8Array(n);
  for (let k = 0; k < n; k++) {
    let pivot = l[k * n + k]!;
    for (let j = 0; j < k; j++) pivot -= l[k * n + j]! ** 2;
    isSkipped[k] = pivot > PIVOT_MIN * system[k * n + k]! ? 0 : 1;
    l[k * n + k] = isSkipped[k] === 1 ? 0 : Math.sqrt(pivot);
    for (let i = k + 1; i < n; i++) {
      let value = l[i * n + k]!;
      for (let j = 0; j < k; j++) value -= l[i * n + j]! * l[k * n + j]!;
      l[i * n + k] = isSkipped[k] === 1 ? 0 : value / l[k * n + k]!;
    }
  }
  const x = right.slice();
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) x[i]! -= l[i * n + j]! * x[j]!;
    x[i] = isSkipped[i] === 1 ? 0 : x[i]! / l[i * n + i]!;
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let j = i + 1; j < n; j++) x[i]! -= l[j * n + i]! * x[j]!;
    x[i] = isSkipped[i] === 1 ? 0 : x[i]! / l[i * n + i]!;
  }
  return x;
}

/**
 * Distance from a view with confidence 1 that counts as rounding. It is relative to 1 + the magnitude of the view's
 * value.
 */
const VIEW_TOLERANCE = 1e-8;

/**
 * Checks that the posterior means satisfy every view with confidence 1.
 * @throws Refusal VALIDATION_FAILED
 */
function assertViewsMet(views: readonly View[], posterior: Float64Array): void {
  for (const { position, weights, value, confidence } of views) {
    const posteriorValue = computeDotProduct(weights, posterior);
    if (confidence < 1 || Math.abs(posteriorValue - value) <= VIEW_TOLERANCE * (1 + Math.abs(value))) continue;
    const message = `View ${position + 1} states ${value} with certainty, but the other certain views imply ${posteriorValue}. The views contradict each other.`;
    throw new Refusal('VALIDATION_FAILED', message, {
      findings: [
        { severity: 'error', code: 'OUT_OF_RANGE', path: `expected_returns.views[${position}].value`, message, value },
      ],
    });
  }
}
