import type { Engine } from '#kernels/engines/engine.js';
import { fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';
import { createDenseMetric, createFactorMetric, type Metric } from '#kernels/optimisation/program/metric.js';
import {
  averageTail,
  poolEntropy,
  type PooledEntropy,
  type TailView,
  type ViewRows,
} from '#kernels/weighting/entropy-pooling.js';
import { formatNumber } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import type { ScenarioView, ScenarioViews } from '../definition/optimisation.js';
import {
  createMeansReader,
  estimateRisk,
  extendMetric,
  type PooledScenarios,
  readScenarioReturns,
  type RequestedWindow,
  type RiskEstimate,
  type Scenarios,
  SECURITIES_PER_OBSERVATION,
} from './decision-problem.js';

export interface ViewedInput {
  readonly views: ScenarioViews;
  /** Identifiers of the columns, [N]. */
  readonly identifiers: readonly string[];
  /** Path prefix of the views in the request: empty or `derivation.`. */
  readonly path: string;
}

/**
 * Estimates risk from scenarios whose probabilities satisfy views: covariance, means and tails use the probabilities.
 * With too few returns, returns the estimate without views.
 * @throws Refusal VALIDATION_FAILED if no probabilities satisfy the views
 * @cost T N^2 / 2, and about 40 K^2 T for K views
 */
export function estimateViewedRisk(
  engine: Engine,
  window: RequestedWindow,
  columns: Int32Array,
  { views, identifiers, path }: ViewedInput,
): RiskEstimate {
  const { sessions } = views;
  const source = sessions === null ? window : { ...window, from: Math.max(window.to - sessions, 0), start: null };
  const plainEstimate = () => estimateRisk(engine, source, columns);
  const scenarios = readCoveredScenarios(source, columns);
  if (scenarios === null) return plainEstimate();
  const periods = estimatePeriodsPerYear(window.sm.sessions);
  const days = Array.from(scenarios.coverage.sessions, (session) => window.sm.sessions[session]!);
  const pooled = poolScenarios(scenarios, { views, identifiers, columns, periods, path, days });
  const { coverage } = scenarios;
  const moments = engine.scope(() => estimateMoments(engine, scenarios, columns, { ...pooled, periods }));
  const counts = pooled.probabilities.map((p) => p * pooled.probabilities.length);
  return {
    periods,
    metric: extendMetric(moments.metric, coverage, columns),
    means: createMeansReader(moments.means, coverage, columns),
    scenarios: () => ({ ...scenarios, counts }),
    coverage,
    isIdentity: false,
    pooled,
  };
}

/** Returns the scenarios of a window; null if there are too few returns. */
function readCoveredScenarios(window: RequestedWindow, columns: Int32Array): Scenarios | null {
  try {
    return readScenarioReturns(window, columns)(null);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'RISK_INSUFFICIENT_DATA') return null;
    throw error;
  }
}

interface PoolingInput extends ViewedInput {
  readonly columns: Int32Array;
  readonly periods: number;
  readonly days: readonly Day[];
}

/** View whose securities are all covered. */
interface HeldView {
  readonly position: number;
  readonly view: ScenarioView;
  /** Returns of the portfolio, and of the second portfolio of a correlation, [T]. */
  readonly returns: Float64Array;
  readonly other: Float64Array | null;
}

/**
 * Computes the probabilities. Views on means are linear. A view on a volatility is linear if the mean of its portfolio
 * is given, and a view on a correlation if both means and volatilities are. Moments without a separate view keep the
 * value that they have after the views of the earlier measures, in the order of `VIEW_MEASURES`; the last solution is
 * the nearest to the prior under all of them.
 * @source Meucci (2008), Fully Flexible Views: Theory and Practice, Risk 21(10); Vorobets (2021), Sequential Entropy
 * Pooling Heuristics, for the order.
 */
function poolScenarios(scenarios: Scenarios, input: PoolingInput): PooledScenarios {
  const { views, periods, days, path } = input;
  const prior = createPrior(days.length, views.half_life);
  const { heldViews, ignored } = selectViews(scenarios, input);
  assertAttainable(heldViews, { periods, path });
  const rows = createRowList(days.length);
  let result: PooledEntropy | undefined;
  let probabilities = prior;
  const tailViews = heldViews.filter(({ view }) => view.measure === 'cvar');
  for (const measure of ['mean', 'volatility', 'correlation'] as const) {
    const own = heldViews.filter(({ view }) => view.measure === measure);
    if (own.length === 0) continue;
    own.forEach((held) => addView(rows, held, { probabilities, periods }));
    result = poolEntropy(prior, rows.list());
    assertPooled(result, { path, views: heldViews });
    probabilities = result.probabilities;
  }
  const tails = tailViews.map((held) => createTailView(held, probabilities));
  if (tails.length > 0) {
    assertOneLowered(tailViews, tails, path);
    result = poolEntropy(prior, rows.list(), tails);
    assertPooled(result, { path, views: heldViews });
    probabilities = result.probabilities;
    assertTailsMet(tailViews, probabilities, path);
  }
  return {
    days,
    probabilities,
    entropy: result?.entropy ?? 0,
    bound: result?.bound ?? 0,
    effective: computeEffectiveCount(probabilities),
    views: heldViews.map((held) => {
      const { position } = held;
      const tail = tailViews.indexOf(held);
      return {
        position,
        prior: measureView(held, prior, periods),
        posterior: measureView(held, probabilities, periods),
        multiplier:
          tail < 0
            ? rows.multiplierOf(position, result!.multipliers)
            : (tails[tail]!.side === 'at_most' ? -1 : 1) * result!.tailMultipliers[tail]!,
      };
    }),
    ignored,
  };
}

function createPrior(count: number, halfLife: number | null): Float64Array {
  const prior = new Float64Array(count).fill(1 / count);
  if (halfLife !== null) fillHalfLifeWeights(halfLife, prior);
  return prior;
}

function selectViews({ returns, coverage }: Scenarios, { views: { views }, identifiers, columns, path }: PoolingInput) {
  const positions = new Map(
    identifiers.flatMap((identifier, i) => (coverage.excluded.has(columns[i]!) ? [] : [[identifier, i] as const])),
  );
  const n = columns.length;
  const combine = (weights: ScenarioView['weights']) => {
    const values = new Float64Array(returns.length / n);
    for (const [identifier, weight] of Object.entries(weights)) {
      const i = positions.get(identifier)!;
      for (let t = 0; t < values.length; t++) values[t]! += weight * returns[t * n + i]!;
    }
    return values;
  };
  const heldViews: HeldView[] = [];
  const ignored: { message: string; path: string }[] = [];
  views.forEach((view, position) => {
    const names = Object.keys({ ...view.weights, ...view.with });
    const absent = names.filter((identifier) => !positions.has(identifier));
    if (absent.length === 0)
      heldViews.push({ position, view, returns: combine(view.weights), other: view.with && combine(view.with) });
    else
      ignored.push({
        message: `View ${position + 1} on scenarios is ignored: ${absent.join(', ')} ${absent.length === 1 ? 'has' : 'have'} no returns in the scenarios.`,
        path: `${path}scenario_views.views[${position}]`,
      });
  });
  return { heldViews, ignored };
}

/** List of linear views that grows by moments, each of them once. */
function createRowList(scenarioCount: number) {
  const rows: { values: Float64Array; bound: number; isEqual: boolean; view: number | null; unit: number }[] = [];
  return {
    /** @param unit value of the row per unit of the view's value */
    add: (values: Float64Array, bound: number, relation: ScenarioView['relation'], view: number | null, unit = 1) => {
      const sign = relation === 'at_most' ? -1 : 1;
      rows.push({
        values: values.map((value) => sign * value),
        bound: sign * bound,
        isEqual: relation === 'equal',
        view,
        unit: sign * unit,
      });
    },
    list(): ViewRows {
      const values = new Float64Array(rows.length * scenarioCount);
      rows.forEach((row, k) => values.set(row.values, k * scenarioCount));
      return {
        values,
        bounds: Float64Array.from(rows, ({ bound }) => bound),
        equalities: Uint8Array.from(rows, ({ isEqual }) => (isEqual ? 1 : 0)),
      };
    },
    multiplierOf: (view: number, multipliers: Float64Array): number =>
      rows.reduce((sum, row, k) => (row.view === view ? sum + row.unit * multipliers[k]! : sum), 0),
  };
}

/** Adds the rows of a view on a moment, with the moments that make it linear. */
function addView(
  rows: ReturnType<typeof createRowList>,
  { position, view, returns, other }: HeldView,
  { probabilities, periods }: { readonly probabilities: Float64Array; readonly periods: number },
): void {
  const { measure, relation, value } = view;
  if (measure === 'mean') {
    rows.add(returns, value / periods, relation, position, 1 / periods);
    return;
  }
  const squares = (values: Float64Array) => values.map((x) => x * x);
  const fixMean = (values: Float64Array) => {
    const mean = average(values, probabilities);
    rows.add(values, mean, 'equal', null);
    return mean;
  };
  const mean = fixMean(returns);
  if (measure === 'volatility') {
    rows.add(squares(returns), mean * mean + (value * value) / periods, relation, position, (2 * value) / periods);
    return;
  }
  const otherReturns = other!; // a correlation has a second portfolio
  const otherMean = fixMean(otherReturns);
  const [deviation, otherDeviation] = [returns, otherReturns].map((values) => {
    const variance = computeVariance(values, probabilities);
    rows.add(squares(values), average(values, probabilities) ** 2 + variance, 'equal', null);
    return Math.sqrt(variance);
  });
  const products = returns.map((x, t) => x * otherReturns[t]!);
  const scale = deviation! * otherDeviation!;
  rows.add(products, mean * otherMean + value * scale, relation, position, scale);
}

function createTailView({ view, returns }: HeldView, probabilities: Float64Array): TailView {
  const losses = returns.map((value) => -value);
  const share = 1 - view.confidence;
  const { average: current } = averageTail({ losses, share }, probabilities);
  const side = view.relation === 'equal' ? (current < view.value ? 'at_least' : 'at_most') : view.relation;
  return { losses, share, bound: view.value, side };
}

function average(values: Float64Array, probabilities: Float64Array): number {
  let sum = 0;
  for (let t = 0; t < values.length; t++) sum += probabilities[t]! * values[t]!;
  return sum;
}

function computeVariance(values: Float64Array, probabilities: Float64Array): number {
  const mean = average(values, probabilities);
  return average(
    values.map((value) => (value - mean) ** 2),
    probabilities,
  );
}

function measureView({ view, returns, other }: HeldView, probabilities: Float64Array, periods: number): number {
  switch (view.measure) {
    case 'mean':
      return periods * average(returns, probabilities);
    case 'volatility':
      return Math.sqrt(periods * computeVariance(returns, probabilities));
    case 'correlation': {
      const means = [returns, other!].map((values) => average(values, probabilities));
      const product = returns.map((x, t) => (x - means[0]!) * (other![t]! - means[1]!));
      const scale = Math.sqrt(computeVariance(returns, probabilities) * computeVariance(other!, probabilities));
      return scale > 0 ? average(product, probabilities) / scale : 0;
    }
    case 'cvar':
      return averageTail({ losses: returns.map((value) => -value), share: 1 - view.confidence }, probabilities).average;
  }
}

function computeEffectiveCount(probabilities: Float64Array): number {
  const squares = probabilities.reduce((sum, p) => sum + p * p, 0);
  return 1 / squares;
}

/** Checks that views on means and tails are within the returns of the scenarios. @throws Refusal VALIDATION_FAILED */
function assertAttainable(
  views: readonly HeldView[],
  { periods, path }: { readonly periods: number; readonly path: string },
): void {
  for (const { position, view, returns } of views) {
    if (view.measure !== 'mean' && view.measure !== 'cvar') continue;
    const scale = view.measure === 'mean' ? periods : -1;
    const values = returns.map((value) => scale * value).toSorted();
    const [least, most] = [values[0]!, values.at(-1)!];
    const isAbove = view.value > most && view.relation !== 'at_most';
    const isBelow = view.value < least && view.relation !== 'at_least';
    if (isAbove || isBelow)
      throw refuseViews(
        `View ${position + 1} states a ${view.measure} of ${view.value}, but its scenarios have values from ${formatNumber(least)} to ${formatNumber(most)}.`,
        `${path}scenario_views.views[${position}].value`,
        view.value,
      );
  }
}

/** Checks that at most one view lowers a tail, which is not convex. @throws Refusal VALIDATION_FAILED */
function assertOneLowered(views: readonly HeldView[], tails: readonly TailView[], path: string): void {
  const lowered = views.filter((_, k) => tails[k]!.side === 'at_most');
  if (lowered.length <= 1) return;
  const { position, view } = lowered[1]!;
  throw refuseViews(
    `Views ${lowered.map((held) => held.position + 1).join(' and ')} lower a conditional value at risk; only one view can, because such a view is not convex.`,
    `${path}scenario_views.views[${position}]`,
    view.value,
  );
}

/** Distance of a conditional value at risk from its view that counts as rounding. */
const TAIL_TOLERANCE = 1e-9;

/** Checks that other views do not prevent the equality of a tail view. @throws Refusal VALIDATION_FAILED */
function assertTailsMet(views: readonly HeldView[], probabilities: Float64Array, path: string): void {
  for (const held of views) {
    const { position, view } = held;
    const value = measureView(held, probabilities, 1);
    if (view.relation === 'equal' && Math.abs(value - view.value) > TAIL_TOLERANCE)
      throw refuseViews(
        `View ${position + 1} states a cvar of ${view.value}, but the other views imply ${formatNumber(value)}. Use the relation at_least or at_most.`,
        `${path}scenario_views.views[${position}]`,
        view.value,
      );
  }
}

function assertPooled(
  { status }: PooledEntropy,
  { path, views }: { readonly path: string; readonly views: readonly HeldView[] },
): void {
  if (status === 'solved') return;
  const numbers = views.map(({ position }) => position + 1).join(', ');
  throw refuseViews(
    status === 'infeasible'
      ? `No probabilities of the scenarios satisfy the views ${numbers} together. The views contradict each other or the scenarios.`
      : `The views ${numbers} can hardly be satisfied: nearly all scenarios would have a probability of 0.`,
    `${path}scenario_views.views`,
    views.length,
  );
}

/** Asserts that at least one view applies to the scenarios of a run. @throws Refusal VALIDATION_FAILED */
export function assertViewed({ pooled }: RiskEstimate): void {
  if (pooled === undefined || pooled.views.length > 0) return;
  const findings = pooled.ignored.map(({ message, path }) => ({
    severity: 'error' as const,
    code: 'NO_WEIGHT_DATA' as const,
    path,
    message,
  }));
  throw new Refusal('VALIDATION_FAILED', `No view on scenarios applies. ${findings[0]!.message}`, { findings });
}

function refuseViews(message: string, path: string, value: number): Refusal {
  return new Refusal('VALIDATION_FAILED', message, {
    findings: [{ severity: 'error', code: 'OUT_OF_RANGE', path, message, value }],
  });
}

/** Returns the annualised means and covariance of the covered securities under probabilities. */
function estimateMoments(
  engine: Engine,
  { returns, coverage }: Scenarios,
  columns: Int32Array,
  { probabilities, periods }: { readonly probabilities: Float64Array; readonly periods: number },
): { readonly metric: Metric; readonly means: Float64Array } {
  const covered = new Set(coverage.columns);
  const positions = [...columns.keys()].filter((i) => covered.has(columns[i]!));
  const n = positions.length;
  const count = probabilities.length;
  const means = new Float64Array(n);
  for (let t = 0; t < count; t++)
    for (let k = 0; k < n; k++) means[k]! += probabilities[t]! * returns[t * columns.length + positions[k]!]!;
  const panel = engine.allocate(count * n);
  for (let t = 0; t < count; t++) {
    const root = Math.sqrt(periods * probabilities[t]!);
    for (let k = 0; k < n; k++) panel[t * n + k] = root * (returns[t * columns.length + positions[k]!]! - means[k]!);
  }
  const annualMeans = means.map((mean) => periods * mean);
  if (n > SECURITIES_PER_OBSERVATION * count) {
    const loadings = new Float64Array(n * count);
    for (let t = 0; t < count; t++) for (let k = 0; k < n; k++) loadings[k * count + t] = panel[t * n + k]!;
    return { metric: createFactorMetric(loadings, new Float64Array(n)), means: annualMeans };
  }
  const matrix = new Float64Array(n * n);
  engine.symmetricRankK(panel, n, matrix);
  return { metric: createDenseMetric(matrix, n), means: annualMeans };
}

/** Returns the probabilities and their proof in the form of the API. */
export const toPooledPayload = ({ days, probabilities, entropy, bound, effective, views }: PooledScenarios) => ({
  dates: days.map(formatDay),
  probabilities: [...probabilities],
  relative_entropy: entropy,
  bound,
  gap: Math.max(0, entropy - bound),
  effective_scenarios: effective,
  views: views.map(({ position, ...view }) => ({ view: position, ...view })),
});
