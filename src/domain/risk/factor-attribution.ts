import { type Attribution, type AttributionInput, linkContributions } from '../analytics/attribution.js';
import { compareText } from '../base/findings.js';
import { toMonthNumber } from '../base/time.js';
import { readGrowthRow } from '../market/growth.js';
import {
  computeStyleExposures,
  computeWeights,
  createFactorExposures,
  estimateFactorReturns,
  findSector,
  labelSectors,
  listFactorNames,
  listStyles,
  MARKET_FACTOR,
  readCrossSection,
  STYLE_NAMES,
} from './factors.js';
import { createBarHistory, type ReturnWindow } from './return-panel.js';

export const ATTRIBUTION_MODELS = ['styles', 'market_sector'] as const;
export type AttributionModel = (typeof ATTRIBUTION_MODELS)[number];

export interface FactorAttributionInput extends Pick<AttributionInput, 'returns' | 'days'> {
  /** Market that contains every security; its sessions are the days of the run. */
  readonly window: Required<ReturnWindow>;
  readonly model: AttributionModel;
  /** Market session on which each period ends, [n]. */
  readonly sessions: Int32Array;
  /** Market column of each security of the run, -1 if there is none, [H]. */
  readonly columns: Int32Array;
  /** Returns the weights held at the start of a period, [H]. Valid until the next period is read. */
  weightsBefore(period: number): Float64Array;
}

export interface FactorAttribution extends Pick<Attribution, 'totalReturn' | 'residual' | 'reconciles'> {
  readonly factors: readonly string[];
  /** Mean exposures at the start of the periods, by factor, [K]. */
  readonly exposures: Float64Array;
  /** Linked contributions by factor, [K]. */
  readonly contributions: Float64Array;
  /** Part of the security returns that the factors do not explain. */
  readonly specific: number;
  /** Part of the return from costs, from securities without a regression, and from sources other than securities. */
  readonly other: number;
  /** Mean fraction of the gross weight that is in a regression. */
  readonly coveredWeight: number;
  readonly months: number;
  readonly unexplained: readonly UnexplainedMonth[];
}

/** Month without a regression, because too few securities of the market have returns. */
export interface UnexplainedMonth {
  /** Number of securities with a return on each session of the month. */
  readonly names: number;
  /** Minimum number of securities. */
  readonly needed: number;
}

interface MonthRegression {
  readonly first: number;
  readonly factors: readonly string[];
  /** [n x K] */
  readonly exposures: Float64Array;
  /** Factor returns, [sessions x K]. */
  readonly returns: Float64Array;
  /** Specific returns, [sessions x n]. */
  readonly residuals: Float64Array;
  /** Row of each market column in the exposures, -1 if there is none. */
  readonly rowOf: Int32Array;
}

interface FactorContributions {
  readonly exposures: ReadonlyMap<string, number>;
  readonly contributions: ReadonlyMap<string, number>;
  readonly specific: number;
  readonly covered: number;
}

/**
 * Attributes the return of a run to factors. For every calendar month, returns are regressed on the exposures known at
 * the close before the month. The regression uses the securities with a return on each session. The contribution of a
 * factor is its return times the exposure of the held weights. Contributions are linked over periods, so that factor,
 * specific and other contributions sum to the total return.
 * @throws Refusal TOTAL_LOSS
 * @cost of the regressions: S N (sectors + styles)
 */
export function attributeToFactors(input: FactorAttributionInput): FactorAttribution {
  const { earned, months, unexplained } = computeReturnsByPeriod(input);
  const factors = listFactors(earned);
  const K = factors.length;
  const createFactorRow = (values: ReadonlyMap<string, number>, ...rest: readonly number[]): Float64Array =>
    Float64Array.from([...factors.map((factor) => values.get(factor) ?? 0), ...rest]);
  const linkedAttribution = linkContributions({
    securityCount: K + 2,
    returns: input.returns,
    days: input.days,
    weightsBefore: (period) => createFactorRow(earned[period]!.exposures, 0, 0),
    contributionsOf(period) {
      const { contributions, specific } = earned[period]!;
      const explainedReturn = [...contributions.values()].reduce((sum, value) => sum + value, specific);
      return createFactorRow(contributions, specific, input.returns[period]! - explainedReturn);
    },
    costOf: () => 0,
    hasCosts: false,
  });
  const { totalReturn, residual, reconciles } = linkedAttribution;
  return {
    factors,
    exposures: linkedAttribution.averageWeights.subarray(0, K),
    contributions: linkedAttribution.contributions.subarray(0, K),
    specific: linkedAttribution.contributions[K]!,
    other: linkedAttribution.contributions[K + 1]!,
    coveredWeight: earned.reduce((sum, { covered }) => sum + covered, 0) / earned.length,
    totalReturn,
    residual,
    reconciles,
    months,
    unexplained,
  };
}

/** Returns the factors of all periods in model order: the market, sectors, styles. */
function listFactors(earned: readonly FactorContributions[]): string[] {
  const results = new Set(earned.flatMap(({ exposures }) => [...exposures.keys()]));
  const styles = STYLE_NAMES.filter((name) => results.delete(name));
  const hasMarket = results.delete(MARKET_FACTOR);
  return [...(hasMarket ? [MARKET_FACTOR] : []), ...[...results].toSorted(compareText), ...styles];
}

function computeReturnsByPeriod(input: FactorAttributionInput) {
  const { sessions: days } = input.window.sm;
  const unexplainedMonths: UnexplainedMonth[] = [];
  let months = 0;
  let month: MonthRegression | UnexplainedMonth | undefined;
  let currentKey = -1;
  const earnedContributions = Array.from(input.sessions, (session, period) => {
    const key = toMonthNumber(days[session]!);
    if (month === undefined || key !== currentKey) {
      month = regressMonth(input, session);
      months++;
      if ('needed' in month) unexplainedMonths.push(month);
    }
    currentKey = key;
    return computeEarned(input, month, { period, session });
  });
  return { earned: earnedContributions, months, unexplained: unexplainedMonths };
}

const NO_EXPOSURES: ReadonlyMap<string, number> = new Map();

function computeEarned(
  { columns, weightsBefore }: FactorAttributionInput,
  month: MonthRegression | UnexplainedMonth,
  { period, session }: { readonly period: number; readonly session: number },
): FactorContributions {
  const weights = weightsBefore(period);
  if ('needed' in month) return { exposures: NO_EXPOSURES, contributions: NO_EXPOSURES, specific: 0, covered: 0 };
  const K = month.factors.length;
  const n = month.exposures.length / K;
  const position = session - month.first;
  const exposures = new Float64Array(K);
  let specific = 0;
  let gross = 0;
  let coveredWeight = 0;
  for (let h = 0; h < columns.length; h++) {
    const weight = weights[h]!;
    if (weight === 0) continue;
    gross += Math.abs(weight);
    const row = columns[h]! < 0 ? -1 : month.rowOf[columns[h]!]!;
    if (row < 0) continue;
    coveredWeight += Math.abs(weight);
    specific += weight * month.residuals[position * n + row]!;
    for (let k = 0; k < K; k++) exposures[k]! += weight * month.exposures[row * K + k]!;
  }
  return {
    exposures: new Map(month.factors.map((factor, k) => [factor, exposures[k]!])),
    contributions: new Map(
      month.factors.map((factor, k) => [factor, exposures[k]! * month.returns[position * K + k]!]),
    ),
    specific,
    covered: gross > 0 ? coveredWeight / gross : 0,
  };
}

/** Runs the regressions for the month of a session, if enough securities have returns. */
function regressMonth({ window, model }: FactorAttributionInput, session: number): MonthRegression | UnexplainedMonth {
  const { sm, growth, datapoints } = window;
  const [first, last] = findMonthSessions(window, session);
  const history = createBarHistory(sm, growth);
  const previousSession = Math.max(0, first - 1);
  const columns = Int32Array.from(sm.identifiers.keys()).filter(
    (column) => history.returns(column, previousSession, last) === last - first + 1,
  );
  const n = columns.length;
  const cross = readCrossSection(datapoints, previousSession, columns);
  const styleNames = model === 'styles' ? listStyles(cross) : [];
  const { labels, sectorAt } = labelSectors(
    Array.from(columns, (column) => findSector({ sm, to: previousSession }, column)),
  );
  const factors = listFactorNames(labels, styleNames);
  if (n <= factors.length) return { names: n, needed: factors.length + 1 };
  const styles = model === 'styles' ? computeStyleExposures(cross, styleNames, columns) : new Float64Array(0);
  const weights = model === 'styles' ? computeWeights(cross, columns) : new Float64Array(n).fill(1);
  const sessions = last - first + 1;
  const residuals = new Float64Array(sessions * n);
  for (let t = 0; t < sessions; t++) {
    const row = readGrowthRow(sm, first + t);
    for (let i = 0; i < n; i++) residuals[t * n + i] = growth[row + columns[i]!]! - 1;
  }
  const spans = [{ from: 0, to: sessions, styles, weights }];
  const { returns } = estimateFactorReturns({ panel: residuals, styleNames, spans }, sectorAt, labels.length);
  const rowByColumn = new Int32Array(sm.securityCount).fill(-1);
  columns.forEach((column, i) => (rowByColumn[column] = i));
  const exposures = createFactorExposures(sectorAt, styles, labels.length, styleNames.length);
  return { first, factors, exposures, returns, residuals, rowOf: rowByColumn };
}

/**
 * Returns the first and the last session of the month of a session, within the window. The first session of a market is
 * excluded, because it has no return.
 */
function findMonthSessions({ sm: { sessions }, to }: ReturnWindow, session: number): readonly [number, number] {
  const month = toMonthNumber(sessions[session]!);
  let first = session;
  let last = session;
  while (first > 1 && toMonthNumber(sessions[first - 1]!) === month) first--;
  while (last < to && toMonthNumber(sessions[last + 1]!) === month) last++;
  return [first, last];
}
