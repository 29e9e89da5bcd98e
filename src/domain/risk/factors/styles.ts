import type { CrossSection } from '../../datapoints/cross-section.js';
import { createLatestRequest, type FieldRequest } from '../../datapoints/field-request.js';
import { resolveName } from '../../datapoints/resolution.js';
import { computeZScores } from '../../datapoints/transforms.js';

/** Number of sessions of a year and of a month. */
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
export type StyleName = keyof typeof STYLES;

export const STYLE_NAMES = Object.keys(STYLES) as StyleName[]; // Object.keys returns plain strings.

/** All datapoints that styles use. */
export const STYLE_FIELDS: readonly FieldRequest[] = STYLE_NAMES.flatMap((name) => findStyle(name).fields);

/** Maximum magnitude of a winsorised score. */
const SCORE_MAX = 3;

function findStyle(name: StyleName): StyleEntry {
  return STYLES[name];
}

/** Returns the styles whose datapoints a market has. */
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
