import { factoriseSemidefinite } from '#kernels/algebra/linear-systems.js';
import type { Engine } from '#kernels/engines/engine.js';
import { regressCrossSection } from '#kernels/moments/cross-section-regression.js';
import { estimateLowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import type { PanelCovariance } from '#kernels/moments/panel-covariance.js';
import { computePrincipalComponents, type PrincipalComponents } from '#kernels/moments/principal-components.js';
import { computeSampleCovariance, fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';
import { adjustEigenvalues, countEffectiveObservations } from '#kernels/moments/structured-covariance.js';
import { compareText } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { toMonthNumber } from '../base/time.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import type { CrossSection, CrossSections } from '../datapoints/cross-section.js';
import { createLatestRequest, type FieldRequest, resolveName } from '../datapoints/fields.js';
import { computeZScores } from '../datapoints/statistics.js';
import { readReference } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import type { FactorEstimator, FactorFit, FactorModel } from './model-terms.js';
import type { Coverage, ReturnWindow } from './return-panel.js';

/**
 * Computes the annualised sample covariance of a panel; overwrites the panel.
 * @param periodsPerYear sessions of a year
 */
function computeAnnualCovariance(panel: Float64Array, columnCount: number, periodsPerYear: number): Float64Array {
  const out = new Float64Array(columnCount * columnCount);
  computeSampleCovariance(panel, columnCount, out);
  return out.map((value) => value * periodsPerYear);
}

/** Computes the annualised sample variances of the columns of a panel with at least two rows. */
function computeAnnualVariances(
  engine: Pick<Engine, 'columnDeviations'>,
  panel: Float64Array,
  columnCount: number,
  periodsPerYear: number,
): Float64Array {
  const dispersion = 1 / (panel.length / columnCount - 1);
  const squares = new Float64Array(columnCount);
  engine.columnDeviations(panel, squares);
  return squares.map((sum) => dispersion * sum * periodsPerYear);
}

/** Factor to which every security has exposure 1. */
export const MARKET_FACTOR = 'MARKET';

/** Magnitude of a t-statistic that counts as significant. */
const SIGNIFICANT_T = 2;

/** Rows of a return panel. They are regressed on exposures that were known before the first of them. */
interface RegressedSpan {
  /** Range of panel rows: first row, and row after the last. */
  readonly from: number;
  readonly to: number;
  /** Style exposures, [n x P]. */
  readonly styles: Float64Array;
  /** Regression weights of the securities, above 0, [n]. */
  readonly weights: Float64Array;
}

export interface CrossSectionFactorsInput {
  /** Returns, [T x n]; overwritten by the residuals. */
  readonly panel: Float64Array;
  /** Sector of each security, [n]. */
  readonly sectors: readonly string[];
  readonly styleNames: readonly string[];
  /** Spans that together cover all panel rows. */
  readonly spans: readonly RegressedSpan[];
  /** Style exposures at the end of the panel, [n x P]. */
  readonly exposures: Float64Array;
  /** Observation weights, [T], with sum 1. */
  readonly weights: Float64Array;
  /** Sessions of a year. Default: 252. */
  readonly periods?: number;
}

/**
 * Estimates a factor model with market, sector and style factors. The returns of each session are regressed on a
 * constant, sector dummies and style exposures. Sector returns average zero.
 * @cost of the regressions: T n (S + P), and n (S + P)^2 per span
 */
function estimateCrossSectionFactors(input: CrossSectionFactorsInput): FactorModel & { readonly fit: FactorFit } {
  const { panel, sectors, styleNames, exposures: styleExposures, weights, periods = LIMITS.PERIODS_PER_YEAR } = input;
  const scale = computeUnbiasedScale(weights, periods);
  const n = sectors.length;
  const { labels, sectorAt } = labelSectors(sectors);
  const [S, P] = [labels.length, styleNames.length];
  const K = 1 + S + P;
  const { returns, fit } = estimateFactorReturns(input, sectorAt, S);
  return {
    factors: listFactorNames(labels, styleNames),
    exposures: createFactorExposures(sectorAt, styleExposures, S, P),
    covariance: computeWeightedCovariance(returns, K, { weights, scale }),
    specific: computeWeightedVariances(panel, n, { weights, scale }),
    fit,
  };
}

/** Returns the sector labels, ascending, and for each security the position of its label. */
export function labelSectors(sectors: readonly string[]): { readonly labels: string[]; readonly sectorAt: Int32Array } {
  const labels = [...new Set(sectors)].toSorted(compareText);
  const positionByLabel = new Map(labels.map((label, place) => [label, place]));
  return { labels, sectorAt: Int32Array.from(sectors, (sector) => positionByLabel.get(sector)!) };
}

export function listFactorNames(sectors: readonly string[], styles: readonly string[]): string[] {
  const otherNames = new Set([MARKET_FACTOR, ...styles]);
  return [MARKET_FACTOR, ...sectors.map((label) => (otherNames.has(label) ? `SECTOR ${label}` : label)), ...styles];
}

/** Returns the exposures to market, sectors and styles, [n x (1 + S + P)]. */
export function createFactorExposures(sectorAt: Int32Array, styles: Float64Array, S: number, P: number): Float64Array {
  const K = 1 + S + P;
  const exposures = new Float64Array(sectorAt.length * K);
  sectorAt.forEach((sector, i) => {
    exposures[i * K] = exposures[i * K + 1 + sector] = 1;
    exposures.set(styles.subarray(i * P, (i + 1) * P), i * K + 1 + S);
  });
  return exposures;
}

/** Computes the returns of market, sectors and styles, [T x K], and the fit. Overwrites the panel by the residuals. */
export function estimateFactorReturns(
  { panel, styleNames: { length: P }, spans }: Pick<CrossSectionFactorsInput, 'panel' | 'styleNames' | 'spans'>,
  sectorAt: Int32Array,
  S: number,
): { readonly returns: Float64Array; readonly fit: FactorFit } {
  const n = sectorAt.length;
  const [p, K] = [S + P, 1 + S + P];
  const observationCount = panel.length / n;
  const returns = new Float64Array(observationCount * K);
  const tSums = new Float64Array(K);
  const significant = new Float64Array(K);
  const coefficients = new Float64Array(p);
  let rSquared = 0;
  for (const { from, to, styles, weights } of spans) {
    const regression = regressCrossSection(createDesign(sectorAt, styles, S, P), weights);
    const spread = combineVariances(regression.inverse, S, P);
    for (let t = from; t < to; t++) {
      const { residualVariance, rSquared: share } = regression.fit(panel.subarray(t * n, (t + 1) * n), coefficients);
      rSquared += share / observationCount;
      const row = returns.subarray(t * K, (t + 1) * K);
      combineCoefficients(coefficients, S, row);
      for (let k = 0; k < K; k++) {
        const error = Math.sqrt(residualVariance * spread[k]!);
        const magnitude = error > 0 ? Math.abs(row[k]!) / error : 0;
        tSums[k]! += magnitude / observationCount;
        if (magnitude > SIGNIFICANT_T) significant[k]! += 1 / observationCount;
      }
    }
  }
  return { returns, fit: { rSquared, tStatistics: tSums, significant } };
}

/** Returns the regression design: sector dummies and style exposures, [n x (S + P)]. */
function createDesign(sectorAt: Int32Array, styles: Float64Array, S: number, P: number): Float64Array {
  const p = S + P;
  const design = new Float64Array(sectorAt.length * p);
  sectorAt.forEach((sector, i) => {
    design[i * p + sector] = 1;
    design.set(styles.subarray(i * P, (i + 1) * P), i * p + S);
  });
  return design;
}

/**
 * Writes factor returns from regression coefficients. The market return is the mean of the sector returns. A sector
 * factor return is the sector return in excess of it.
 */
function combineCoefficients(coefficients: Float64Array, S: number, out: Float64Array): void {
  let market = 0;
  for (let s = 0; s < S; s++) market += coefficients[s]! / S;
  out[0] = market;
  for (let k = 0; k < coefficients.length; k++) out[1 + k] = coefficients[k]! - (k < S ? market : 0);
}

/** Returns the variances of the factor returns relative to the residual variance, [K]. */
function combineVariances(inverse: Float64Array, S: number, P: number): Float64Array {
  const p = S + P;
  const variances = new Float64Array(1 + p);
  const row = new Float64Array(p);
  for (let k = 0; k <= p; k++) {
    // weights of the regression coefficients in factor k
    row.fill(0);
    if (k === 0) row.fill(1 / S, 0, S);
    else {
      if (k <= S) row.fill(-1 / S, 0, S);
      row[k - 1]! += 1;
    }
    let variance = 0;
    for (let i = 0; i < p; i++) for (let j = 0; j < p; j++) variance += row[i]! * inverse[i * p + j]! * row[j]!;
    variances[k] = Math.max(0, variance);
  }
  return variances;
}

interface ObservationWeights {
  /** [T]. */
  readonly weights: Float64Array;
  /** Factor on the weighted sum of squares. */
  readonly scale: number;
}

/** Returns the annualised covariance of factor returns: sum w (f - m)(f - m)' / (1 - sum w^2). */
function computeWeightedCovariance(
  returns: Float64Array,
  K: number,
  { weights, scale }: ObservationWeights,
): Float64Array {
  const centredReturns = centreColumns(returns, K, weights);
  const covariance = new Float64Array(K * K);
  for (let t = 0; t < weights.length; t++)
    for (let k = 0; k < K; k++) {
      const value = scale * weights[t]! * centredReturns[t * K + k]!;
      for (let l = 0; l < K; l++) covariance[k * K + l]! += value * centredReturns[t * K + l]!;
    }
  // The matrix is mirrored. Products in either order may differ in their last digit.
  for (let k = 0; k < K; k++) for (let l = 0; l < k; l++) covariance[k * K + l] = covariance[l * K + k]!;
  return covariance;
}

function computeWeightedVariances(
  residuals: Float64Array,
  n: number,
  { weights, scale }: ObservationWeights,
): Float64Array {
  const centredResiduals = centreColumns(residuals, n, weights);
  const variances = new Float64Array(n);
  for (let t = 0; t < weights.length; t++)
    for (let i = 0; i < n; i++) variances[i]! += scale * weights[t]! * centredResiduals[t * n + i]! ** 2;
  return variances;
}

function centreColumns(panel: Float64Array, columnCount: number, weights: Float64Array): Float64Array {
  const means = new Float64Array(columnCount);
  for (let t = 0; t < weights.length; t++)
    for (let k = 0; k < columnCount; k++) means[k]! += weights[t]! * panel[t * columnCount + k]!;
  return panel.map((value, position) => value - means[position % columnCount]!);
}

/** Returns the scale of an unbiased annual variance: periods of a year over 1 - sum w^2. */
function computeUnbiasedScale(weights: Float64Array, periodsPerYear: number): number {
  return periodsPerYear / (1 - weights.reduce((sum, weight) => sum + weight * weight, 0));
}

/**
 * Number of components that are always computed and cached. It is the maximum of a request, so a request for another
 * number needs no new computation.
 */
export const CACHED_COMPONENTS = 20;

/** Principal components and variances. From these, a statistical model with any number of factors can be formed. */
export interface PrincipalParts extends PrincipalComponents {
  /** Sample variances of the securities, [n]. */
  readonly variances: Float64Array;
}

/**
 * Computes the first principal components of the sample covariance, and the sample variances.
 * @param panel [T x n] returns; overwritten.
 * @param count number of components; at most the number of securities.
 * @cost an eigenproblem of min(T, n) and a product of the panel with itself
 */
export function computePrincipalParts(engine: Engine, panel: Float64Array, n: number, count: number): PrincipalParts {
  const { variances } = estimateLowRankCovariance(engine, panel, n, {
    target: 'scaled_identity',
    intensity: 0,
    method: 'shape',
    scale: LIMITS.PERIODS_PER_YEAR,
  });
  return { ...computePrincipalComponents(engine, panel, n, Math.min(count, n)), variances };
}

/**
 * Returns the first principal components of the annualised sample covariance as a factor model. Unit eigenvectors are
 * the exposures and eigenvalues the factor variances. The remainders of the variances are specific.
 * @param factorCount number of components; at most the number of securities.
 * @param periodsPerYear sessions of a year.
 */
export function computePrincipalFactors(
  { values, vectors, variances }: PrincipalParts,
  factorCount: number,
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): FactorModel {
  const n = variances.length;
  const K = Math.min(factorCount, n);
  const exposures = new Float64Array(n * K);
  const specific = variances.map((variance) => variance * periodsPerYear);
  const covariance = new Float64Array(K * K);
  for (let k = 0; k < K; k++) {
    const variance = values[k]! * periodsPerYear;
    covariance[k * (K + 1)] = variance;
    for (let i = 0; i < n; i++) {
      const exposure = vectors[k * n + i]!;
      exposures[i * K + k] = exposure;
      specific[i] = Math.max(0, specific[i]! - variance * exposure * exposure);
    }
  }
  return { factors: Array.from({ length: K }, (_, k) => `PC${k + 1}`), exposures, covariance, specific };
}

/** Label of securities without a sector. */
const UNCLASSIFIED = 'UNCLASSIFIED';

/** Returns the sector of a security as known on the last session of a window. */
export function findSector({ sm, to }: Pick<ReturnWindow, 'sm' | 'to'>, column: number): string {
  const sector = readReference(sm.market.reference, sm.identifiers[column]!, 'SECTOR', sm.sessions[to]!);
  return typeof sector === 'string' && sector !== '' ? sector : UNCLASSIFIED;
}

const YEAR_SESSIONS = 252;
const MONTH_SESSIONS = 21;

interface StyleEntry {
  /** Datapoints of the style's descriptors. The style is omitted if a market lacks all of them. */
  readonly fields: readonly FieldRequest[];
  readonly meaning: string;
  /** Returns the descriptor of a datapoint value. Returns NaN if it has none. */
  readonly of?: (value: number) => number;
}

const computeLogarithm = (value: number): number => (value > 0 ? Math.log(value) : Number.NaN);

/** Styles of a factor model, in factor order. */
export const STYLES = {
  SIZE: { fields: [createLatestRequest('MARKET_CAP')], of: computeLogarithm, meaning: 'logarithm of MARKET_CAP' },
  VALUE: {
    fields: [createLatestRequest('BOOK_TO_PRICE'), createLatestRequest('EARNINGS_YIELD')],
    meaning: 'mean of the scores of BOOK_TO_PRICE and EARNINGS_YIELD',
  },
  MOMENTUM: {
    fields: [createLatestRequest('MOMENTUM', { window: YEAR_SESSIONS - MONTH_SESSIONS, lag: MONTH_SESSIONS })],
    meaning: 'MOMENTUM over 231 sessions, 21 sessions back',
  },
  VOLATILITY: {
    fields: [createLatestRequest('VOLATILITY', { window: YEAR_SESSIONS })],
    meaning: 'VOLATILITY over 252 sessions',
  },
  LIQUIDITY: {
    fields: [createLatestRequest('VALUE_TRADED', { window: 3 * MONTH_SESSIONS, aggregate: 'mean' })],
    of: computeLogarithm,
    meaning: 'logarithm of mean VALUE_TRADED over 63 sessions, orthogonalised to SIZE',
  },
  QUALITY: { fields: [createLatestRequest('RETURN_ON_EQUITY')], meaning: 'RETURN_ON_EQUITY' },
  DIVIDEND: { fields: [createLatestRequest('DIVIDEND_YIELD')], meaning: 'DIVIDEND_YIELD' },
} as const satisfies Readonly<Record<string, StyleEntry>>;
type StyleName = keyof typeof STYLES;

export const STYLE_NAMES = Object.keys(STYLES) as StyleName[]; // Object.keys returns plain strings.

/** All datapoints that styles use. */
export const STYLE_FIELDS: readonly FieldRequest[] = STYLE_NAMES.flatMap((name) => findStyle(name).fields);

/** Maximum magnitude of a winsorised score. */
const SCORE_MAX = 3;

function findStyle(name: StyleName): StyleEntry {
  return STYLES[name];
}

export function listStyles({ market: { market } }: Pick<CrossSection, 'market'>): StyleName[] {
  return STYLE_NAMES.filter((name) => findStyle(name).fields.some((field) => 'dataset' in resolveName(market, field)));
}

/**
 * Computes the style exposures known on the session of a cross-section. Descriptors are limited to three deviations and
 * standardised to mean 0 and deviation 1. A security without a value has 0.
 * @param columns ascending, [n].
 * @returns [n x styles] row-major
 */
export function computeStyleExposures(
  cross: CrossSection,
  styles: readonly StyleName[],
  columns: Int32Array,
): Float64Array {
  const scores = styles.map((style) => computeScores(cross, findStyle(style), columns));
  const [size, liquidity] = [styles.indexOf('SIZE'), styles.indexOf('LIQUIDITY')];
  if (size >= 0 && liquidity >= 0) scores[liquidity] = computeZScores(removeScore(scores[liquidity]!, scores[size]!));
  const exposures = new Float64Array(columns.length * styles.length);
  scores.forEach((score, k) => {
    for (let i = 0; i < columns.length; i++) exposures[i * styles.length + k] = score[i]!;
  });
  return exposures;
}

/**
 * Returns the mean of the standardised scores of a style's datapoints, standardised again. A security without a value
 * has 0.
 */
function computeScores(cross: CrossSection, { fields, of }: StyleEntry, columns: Int32Array): Float64Array {
  const fieldRequests = fields.filter((field) => 'dataset' in resolveName(cross.market.market, field));
  const fieldScores = fieldRequests.map((field) => {
    const values = cross.numbers(field, columns);
    return winsorise(of === undefined ? values : values.map(of));
  });
  if (fieldScores.length === 1) return fieldScores[0]!.map(replaceMissing);
  const mean = fieldScores[0]!.map((_, i) => {
    const presentParts = fieldScores.map((part) => part[i]!).filter((value) => value === value);
    return presentParts.length === 0
      ? Number.NaN
      : presentParts.reduce((sum, value) => sum + value, 0) / presentParts.length;
  });
  return computeZScores(mean).map(replaceMissing);
}

function winsorise(values: Float64Array): Float64Array {
  const scores = computeZScores(values.map((value) => (Number.isFinite(value) ? value : Number.NaN)));
  return computeZScores(
    scores.map((score) => (score > SCORE_MAX ? SCORE_MAX : score < -SCORE_MAX ? -SCORE_MAX : score)),
  );
}

/** Returns the residual of a score after a regression on another score. */
function removeScore(scores: Float64Array, other: Float64Array): Float64Array {
  let product = 0;
  let square = 0;
  for (let i = 0; i < scores.length; i++) {
    product += scores[i]! * other[i]!;
    square += other[i]! * other[i]!;
  }
  const slope = square > 0 ? product / square : 0;
  return scores.map((score, i) => score - slope * other[i]!);
}

function replaceMissing(value: number): number {
  return value === value ? value : 0;
}

/** Default number of principal components. */
const DEFAULT_COMPONENTS = 10;

/** Maximum number of sessions for which style exposures apply: one month. */
export const EXPOSURE_SESSIONS = 23;

export interface FactorSettings {
  readonly estimator: FactorEstimator;
  /** Number of principal components of the statistical model. */
  readonly factors?: number | undefined;
  readonly half_life: number | null;
  readonly eigenvalue_simulations?: number | undefined;
}

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

/** Engine functions for regressions on groups. */
type GroupEngine = Pick<Engine, 'centreGroups' | 'columnDeviations'>;

/**
 * Estimates market and sector factors. The returns of each session are regressed on a constant and sector dummies, with
 * equal weights. Sector returns average zero. The fitted return of a sector is therefore the mean over its securities,
 * and the market return is the mean over sectors.
 * @param panel [T x n] returns; overwritten by the residuals.
 * @param sectors sector of each security, [n].
 * @param periodsPerYear sessions of a year.
 */
export function computeSectorFactors(
  engine: GroupEngine,
  panel: Float64Array,
  sectors: readonly string[],
  periodsPerYear: number = LIMITS.PERIODS_PER_YEAR,
): FactorModel {
  const n = sectors.length;
  const labels = [...new Set(sectors)].toSorted(compareText);
  const sectorPositions = Int32Array.from(sectors, (sector) => labels.indexOf(sector));
  const K = labels.length + 1;
  const observationCount = panel.length / n;
  const means = new Float64Array(observationCount * (K - 1));
  engine.centreGroups(panel, { groupAt: sectorPositions, count: K - 1 }, means);

  const exposures = new Float64Array(n * K);
  for (let i = 0; i < n; i++) exposures[i * K] = exposures[i * K + 1 + sectorPositions[i]!] = 1;
  return {
    factors: [MARKET_FACTOR, ...labels.map((label) => (label === MARKET_FACTOR ? `SECTOR ${label}` : label))],
    exposures,
    covariance: computeAnnualCovariance(computeFactorReturns(means, K - 1), K, periodsPerYear),
    specific: computeAnnualVariances(engine, panel, n, periodsPerYear),
  };
}

/**
 * Computes the returns of the market and of each sector relative to the market, [T x K]. They follow from the mean
 * returns of the sectors, [T x K - 1].
 */
function computeFactorReturns(means: Float64Array, sectorCount: number): Float64Array {
  const observationCount = means.length / sectorCount;
  const factors = new Float64Array(observationCount * (sectorCount + 1));
  for (let t = 0; t < observationCount; t++) {
    const position = t * (sectorCount + 1);
    let market = 0;
    for (let s = 0; s < sectorCount; s++) market += means[t * sectorCount + s]! / sectorCount;
    factors[position] = market;
    for (let s = 0; s < sectorCount; s++) factors[position + 1 + s] = means[t * sectorCount + s]! - market;
  }
  return factors;
}
