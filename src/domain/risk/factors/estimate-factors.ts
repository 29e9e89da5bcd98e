import { estimatePeriodsPerYear } from '../../calendars/periods-per-year.js';
import { factoriseSemidefinite } from '#kernels/algebra/semidefinite-factor.js';
import type { Engine } from '#kernels/engines/engine.js';
import { adjustEigenvalues, countEffectiveObservations } from '#kernels/moments/eigenvalue-bias.js';
import { fillHalfLifeWeights } from '#kernels/moments/half-life-weights.js';
import type { PanelCovariance } from '#kernels/moments/panel-covariance.js';
import { toMonthNumber } from '../../time/days.js';
import { LIMITS } from '../../refusals/limits.js';
import type { SessionMarket } from '../../market/session-market.js';
import type { CrossSection, CrossSections } from '../../datapoints/cross-section.js';
import { createLatestRequest } from '../../datapoints/field-request.js';
import { resolveName } from '../../datapoints/resolution.js';
import type { FactorEstimator, FactorFit, FactorModel } from '../factor-model.js';
import { computePrincipalFactors, computePrincipalParts } from '../principal-factors.js';
import type { Coverage, ReturnWindow } from '../return-panel.js';
import { estimateCrossSectionFactors, type RegressedSpan } from './cross-section-factors.js';
import { findSector } from './sectors.js';
import { computeStyleExposures, listStyles, type StyleName } from './styles.js';

/** Default number of principal components. */
const DEFAULT_COMPONENTS = 10;

/** Maximum number of sessions for which style exposures apply: one month. */
export const EXPOSURE_SESSIONS = 23;

export interface FactorSettings {
  readonly estimator: FactorEstimator;
  /** Number of principal components of the statistical model. */
  readonly factors?: number | undefined;
  readonly half_life: number | null;
  /** Number of samples for the adjustment of the factor covariance's eigenvalues. */
  readonly eigenvalue_simulations?: number | undefined;
}

/** Estimated factor model. */
export interface EstimatedFactors {
  readonly model: FactorModel;
  /** Share of the variance that the factors explain; only for principal components. */
  readonly fit: Pick<FactorFit, 'rSquared'> & Partial<FactorFit>;
  /** First panel row that was used. Style exposures need earlier history. */
  readonly from: number;
}

/**
 * Estimates a factor model of the covered securities of a window. Sectors and final exposures are those known on the
 * last session of the window. Returns are regressed on exposures known before each return.
 * @param panel [T x n] returns; overwritten.
 * @cost an eigenproblem of min(T, n), or T n (S + P) and the datapoints of a session in 21
 */
export function estimateFactors(
  engine: Engine,
  window: ReturnWindow,
  { columns, sessions }: Pick<Coverage, 'columns' | 'sessions'>,
  { estimator, factors = DEFAULT_COMPONENTS, half_life: halfLife, eigenvalue_simulations: simulations }: FactorSettings,
  panel: Float64Array,
): EstimatedFactors {
  const n = columns.length;
  const periods = estimatePeriodsPerYear(window.sm.sessions);
  if (estimator === 'statistical') {
    const model = computePrincipalFactors(computePrincipalParts(engine, panel, n, factors), factors, periods);
    return { model, fit: { rSquared: computeExplainedShare(model) }, from: 0 };
  }
  const sectors = Array.from(columns, (column) => findSector(window, column));
  const { names, exposures, spans } =
    estimator === 'styles' ? createStyledSpans(window, columns, sessions) : createPlainSpan(n, sessions.length);
  const [{ from }] = spans as [RegressedSpan, ...RegressedSpan[]]; // there is at least one span
  const rows = panel.subarray(from * n);
  const weights = new Float64Array(sessions.length - from).fill(1 / (sessions.length - from));
  if (halfLife !== null) fillHalfLifeWeights(halfLife, weights);
  const { fit, ...model } = estimateCrossSectionFactors({
    panel: rows,
    sectors,
    styleNames: names,
    spans: spans.map((span) => ({ ...span, from: span.from - from, to: span.to - from })),
    exposures,
    weights,
    periods,
  });
  if (simulations !== undefined) {
    const observations = countEffectiveObservations(weights);
    adjustEigenvalues(engine, model.covariance, model.factors.length, { observations, simulations });
  }
  return { model, fit, from };
}

/** Returns the share of the total variance that the factors explain. */
function computeExplainedShare({ exposures, covariance, specific }: FactorModel): number {
  const n = specific.length;
  const K = exposures.length / n;
  let commonVariance = 0;
  for (let i = 0; i < n; i++)
    for (let k = 0; k < K; k++) commonVariance += covariance[k * (K + 1)]! * exposures[i * K + k]! ** 2;
  const total = commonVariance + specific.reduce((sum, value) => sum + value, 0);
  return total > 0 ? commonVariance / total : 0;
}

interface StyledSpans {
  readonly names: readonly StyleName[];
  readonly exposures: Float64Array;
  readonly spans: readonly RegressedSpan[];
}

/** Returns a single span with equal weights and no styles. */
function createPlainSpan(n: number, observationCount: number): StyledSpans {
  const emptyStyles = new Float64Array(0);
  const weights = new Float64Array(n).fill(1);
  return {
    names: [],
    exposures: emptyStyles,
    spans: [{ from: 0, to: observationCount, styles: emptyStyles, weights }],
  };
}

/**
 * Returns the calendar months of a panel, each with the exposures known at the close before the month. The first month
 * is the one from which every current style has values, unless that leaves too few returns.
 */
function createStyledSpans(
  { sm, datapoints, to }: ReturnWindow,
  columns: Int32Array,
  sessions: Int32Array,
): StyledSpans {
  if (datapoints === undefined) throw new Error('a window without datapoints has no styles');
  const order = columns.toSorted();
  const readSession = (session: number): CrossSection => readCrossSection(datapoints, session, order);
  const monthSpans = listMonthSpans(sm, sessions).map((span) => ({ ...span, cross: readSession(span.known) }));
  const availableStyles = listStyles(readSession(to));
  const last = monthSpans.at(-1)!;
  const names = availableStyles.filter((name) => hasSpread(computeStyleExposures(last.cross, [name], order)));
  const spans = monthSpans.map(({ from, to: end, cross }): RegressedSpan => ({
    from,
    to: end,
    styles: reorderRows(computeStyleExposures(cross, names, order), order, columns),
    weights: reorderRows(computeWeights(cross, order), order, columns),
  }));
  const first = 1 + spans.findLastIndex(({ styles }) => !hasEveryStyle(styles, names.length));
  const isEnough = sessions.length - spans[first]!.from >= LIMITS.MIN_MODEL_OBSERVATIONS;
  const exposures = reorderRows(computeStyleExposures(readSession(to), names, order), order, columns);
  return { names, exposures, spans: isEnough ? spans.slice(first) : spans };
}

/** Returns true if every style has a nonzero exposure. */
function hasEveryStyle(styles: Float64Array, count: number): boolean {
  for (let k = 0; k < count; k++) {
    let position = k;
    while (position < styles.length && styles[position] === 0) position += count;
    if (position >= styles.length) return false;
  }
  return true;
}

/** Returns the panel rows of each calendar month, ascending, and the last session before each month. */
function listMonthSpans(
  { sessions: days }: SessionMarket,
  sessions: Int32Array,
): { from: number; to: number; readonly known: number }[] {
  const spans: { from: number; to: number; readonly known: number }[] = [];
  sessions.forEach((session, row) => {
    let previousSession = session - 1; // a return has a previous session
    while (previousSession > 0 && toMonthNumber(days[previousSession]!) === toMonthNumber(days[session]!))
      previousSession--;
    const span = spans.at(-1);
    if (span?.known === previousSession) span.to = row + 1;
    else spans.push({ from: row, to: row + 1, known: previousSession });
  });
  return spans;
}

/** Maximum number of cached cross-sections: forty years of months. */
const CACHED_SESSIONS_MAX = 480;

const crossSectionCache = new WeakMap<CrossSections, Map<number, CrossSection>>();

/** Returns the cross-section of a session, cached. */
export function readCrossSection(datapoints: CrossSections, session: number, columns: Int32Array): CrossSection {
  const sectionBySession = crossSectionCache.get(datapoints) ?? new Map<number, CrossSection>();
  crossSectionCache.set(datapoints, sectionBySession);
  const cross = sectionBySession.get(session) ?? datapoints.at(session, columns);
  sectionBySession.set(session, cross);
  if (sectionBySession.size > CACHED_SESSIONS_MAX) sectionBySession.delete(sectionBySession.keys().next().value!);
  return cross;
}

/**
 * Returns the square roots of market capitalisations, scaled to mean 1. A security without a value has 1. All have 1 if
 * the market has no such datapoint.
 */
export function computeWeights(cross: CrossSection, columns: Int32Array): Float64Array {
  const field = createLatestRequest('MARKET_CAP');
  if ('missing' in resolveName(cross.market.market, field)) return new Float64Array(columns.length).fill(1);
  const roots = cross.numbers(field, columns).map((value) => (value > 0 ? Math.sqrt(value) : 0));
  const positiveRoots = roots.filter((root) => root > 0);
  const mean = positiveRoots.reduce((sum, root) => sum + root, 0) / Math.max(1, positiveRoots.length);
  return roots.map((root) => (root > 0 ? root / mean : 1));
}

/** Reorders rows from ascending columns to the order of `columns`. */
function reorderRows(rows: Float64Array, ascending: Int32Array, columns: Int32Array): Float64Array {
  const width = rows.length / columns.length;
  const positionByColumn = new Map(Array.from(ascending, (column, place) => [column, place]));
  const out = new Float64Array(rows.length);
  columns.forEach((column, i) => {
    const position = positionByColumn.get(column)!;
    out.set(rows.subarray(position * width, (position + 1) * width), i * width);
  });
  return out;
}

function hasSpread(scores: Float64Array): boolean {
  return scores.some((score) => score !== 0);
}

/**
 * Returns loadings, [n x K]: exposures times a root of F. The products of the loadings are the factor part of a
 * covariance.
 */
export function createLoadings({ exposures, covariance, specific }: FactorModel): Float64Array {
  const n = specific.length;
  const K = exposures.length / n;
  const { lower } = factoriseSemidefinite(covariance, K);
  const loadings = new Float64Array(n * K);
  for (let i = 0; i < n; i++)
    for (let k = 0; k < K; k++) {
      let value = 0;
      for (let l = k; l < K; l++) value += exposures[i * K + l]! * lower[l * K + k]!;
      loadings[i * K + k] = value;
    }
  return loadings;
}

/**
 * Computes the covariance B F B' + D, annualised.
 * @param out [n x n], overwritten
 */
export function computeFactorCovariance(engine: Engine, model: FactorModel, out: Float64Array): void {
  const n = model.specific.length;
  engine.scope(() => {
    const rows = engine.allocate(model.exposures.length);
    fillFactorRows(model, rows);
    engine.symmetricRankK(rows, n, out);
  });
  for (let i = 0; i < n; i++) out[i * (n + 1)]! += model.specific[i]!;
}

/** Returns the covariance of a factor model in panel form. The panel consists of the loadings of the model. */
export function createFactorPanel(model: FactorModel): PanelCovariance {
  const n = model.specific.length;
  const panel = new Float64Array(model.exposures.length);
  fillFactorRows(model, panel);
  return { panel, assets: n, keep: 1, common: 0, scale: new Float64Array(n), addedVariances: model.specific };
}

/**
 * Writes the loadings with one row per factor.
 * @param out [K x n], overwritten
 */
function fillFactorRows(model: FactorModel, out: Float64Array): void {
  const n = model.specific.length;
  const loadings = createLoadings(model);
  const K = loadings.length / n;
  for (let i = 0; i < n; i++) for (let k = 0; k < K; k++) out[k * n + i] = loadings[i * K + k]!;
}
