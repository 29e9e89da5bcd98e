import { decodeUtf8 } from '#base/bytes.js';
import { callOnce } from '#base/once.js';
import type { AttributionView, OverviewView, WeightsView } from '#contract/analytics/analytics.js';
import type { DividendPointsView } from '#contract/analytics/run-views.js';
import { type ExposurePayload, measureExposure } from '#domain/analytics/concentration.js';
import {
  computeAnnualReturns,
  computeDrawdown,
  computeMonthlyReturns,
  computeReturns,
  computeRollingVolatility,
  type MonthReturn,
  rebase,
} from '#domain/analytics/returns.js';
import type { StaleState } from '#domain/backtest/plan.js';
import type { RunLabels } from '#domain/backtest/run-file/blocks.js';
import { readRunGrowthTerms, restoreTreatment } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { roundHalfAwayFromZero } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay, toCivilDate } from '#domain/base/time.js';
import { listAnnouncedDividends, listPaidDividends } from '#domain/books/announced-dividends.js';
import { estimatePeriodsPerYear } from '#domain/calendars/calendar.js';
import { ISSUER, type LimitRuleName } from '#domain/definition/compliance.js';
import type { ReturnVariant } from '#domain/market/market-data.js';
import { createExchangeRates } from '#domain/market/rates.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import type { RunTerms } from '#domain/outputs/report-templates.js';
import {
  createPack,
  type KnownSecurity,
  type Pack,
  type PackAccount,
  readSecurityAsKnown,
  RebalancePackRequest,
} from '#domain/studies/rebalance-pack.js';
import {
  computeScenario,
  createScenarioMarket,
  type Scenario,
  type ScenarioOutcome,
} from '#domain/studies/scenarios.js';
import type { ReadDifference } from '#domain/outputs/exports.js';
import type { ShownDifference } from '#domain/studies/difference-result.js';
import { raiseToPower } from '#kernels/power.js';
import { createAttributionView } from '../attribution.js';
import { runSide } from '../dated-figures.js';
import { createDividendPointsView, type DividendPointsInput } from '../dividend-points.js';
import { computeWeightsByGroup, createSideGroups, sumGroups } from '../exposures.js';
import { watchBreaches, type WatchedBreaches, type WatchedRule, watchRules } from '../limits.js';
import { computeRebalanceFigures, createWeightsReader, type RebalanceFigures } from '../rebalances.js';
import { readDecimals, readIndexSeries, readStoredLabels } from '../run-columns.js';
import { createWeightsView, type HeldRisk, readPositiveWeights } from '../weights.js';

/** Reason why content is not available. */
export interface Missing {
  readonly missing: string;
}

/** Returns the ordinary dividends of a run in points of its level. */
export function computeRunDividends(columns: RunColumns, sm: SessionMarket): DividendPointsView | Missing {
  if (sm.market.adjustment === 'total')
    return { missing: 'The prices of the store include dividends, so paid dividends cannot be derived from them.' };
  return createDividendPointsView(columns, { window: { start: null, end: null }, ...computeRunFractions(columns, sm) });
}

export function computeRunFractions(
  columns: RunColumns,
  sm: SessionMarket,
): Pick<DividendPointsInput, 'paid' | 'toCome'> {
  const { treatment, variant } = columns.header;
  const { withholding_tax: withholding } = restoreTreatment(treatment);
  const terms = { growth: readRunGrowthTerms(columns.header, variant), splits: treatment.splits, withholding };
  const last = sm.sessionAt(columns.i32('days').at(-1)!);
  return { paid: listPaidDividends(sm, terms), toCome: listAnnouncedDividends(sm, last, terms) };
}

interface RebalanceOrders extends Pick<Pack, 'capacity'> {
  /** Fraction of the portfolio before the orders that can be sold within each number of days. */
  readonly liquidation: Pack['liquidation'];
  readonly date: string;
  /** Fraction of the daily volume that may be traded. */
  readonly participation: number;
  readonly account: PackAccount;
  readonly days: Pack['days_to_trade'];
}

/**
 * Returns the orders of the latest rebalance in whole shares, for a portfolio that held the index before it. Returns
 * null for an overlay. Also returns null if the only rebalance of the run is the first purchase.
 */
export function computeRebalanceOrders(
  columns: RunColumns,
  sm: SessionMarket,
  aum: number,
): RebalanceOrders | Missing | null {
  const { header } = columns;
  const position = header.rebalances.at(-1)!.at;
  if (header.parts !== undefined || position < 1) return null;
  const H = header.names.length;
  const event = columns.i32('eventAt').indexOf(position);
  const weightsBefore =
    event < 0
      ? columns.f64('weights', position * H, (position + 1) * H)
      : columns.f64('before', event * H, (event + 1) * H);
  const target = columns.f64('targets', (header.rebalances.length - 1) * H, header.rebalances.length * H);
  const session = sm.sessionAt(columns.i32('days', position, position + 1)[0]!);
  const request = RebalancePackRequest.parse({ aum });
  const growth = readRunGrowthTerms(header, header.variant);
  const rates = createExchangeRates(sm, growth.currency);
  const names = header.names.flatMap((identifier, i): (KnownSecurity & { readonly shares: number })[] => {
    const column = sm.columnOf(identifier);
    if (column < 0 || (weightsBefore[i] === 0 && target[i] === 0)) return [];
    const name = readSecurityAsKnown(
      { sm, rates, growth, session, sessions: request.adv_sessions },
      column,
      target[i]!,
    );
    return Number.isFinite(name.price) ? [{ ...name, shares: Math.floor((weightsBefore[i]! * aum) / name.price) }] : [];
  });
  const cash = names.reduce((uninvested, { shares, price }) => uninvested - shares * price, aum);
  const holdings = names
    .filter(({ shares }) => shares !== 0)
    .map(({ identifier, shares }) => ({ identifier, shares, value: null }));
  const accounts = [{ name: 'Portfolio', cash: Math.max(0, cash), holdings }];
  const pack = createPack(names, { ...request, aum: null, accounts });
  return {
    date: formatDay(sm.sessions[session]!),
    participation: request.participation,
    account: pack.accounts[0]!,
    days: pack.days_to_trade,
    capacity: pack.capacity,
    liquidation: pack.liquidation,
  };
}

/** Result of a scenario in a report, or the reason why there is none. */
interface ScenarioResult {
  readonly name: string;
  readonly outcome: ScenarioOutcome | Missing;
}

/**
 * Reference column that groups securities. If a return of a security is missing, the mean return of its group replaces
 * it.
 */
const DEFAULT_PROXIES = 'SECTOR';

/** Applies scenarios to the holdings on the last date of a run. */
function computeRunScenarios(
  columns: RunColumns,
  sm: SessionMarket,
  requestedScenarios: readonly Scenario[],
): ScenarioResult[] {
  const { header } = columns;
  const market = createScenarioMarket(sm, { header, weights: readPositiveWeights(columns, null), by: DEFAULT_PROXIES });
  return requestedScenarios.map((scenario): ScenarioResult => {
    const { name } = scenario;
    try {
      return { name, outcome: computeScenario(market, scenario, { by: DEFAULT_PROXIES, path: name }) };
    } catch (failure) {
      if (failure instanceof Refusal) return { name, outcome: { missing: formatReason(failure) } };
      throw failure;
    }
  });
}

function formatReason({ message, detail }: Refusal): string {
  const findings = (detail?.['findings'] ?? []) as readonly Finding[]; // refusals have findings under this member
  return findings.length === 0 ? message : findings.map((finding) => finding.message).join(' ');
}

interface YearEndSectors {
  /** Last date of each listed year, YYYY-MM-DD. */
  readonly dates: readonly string[];
  /** Sectors sorted by descending average weight; null for securities without a sector. */
  readonly sectors: readonly { readonly sector: string | null; readonly weights: Float64Array }[];
}

/**
 * Returns the weight of each sector at the ends of the latest years. Sectors are those that were known on the last date
 * of the run.
 */
function computeYearEndSectors(columns: RunColumns, years: number): YearEndSectors {
  const allDays = columns.i32('days');
  const last = allDays.length - 1;
  const yearEnds = Array.from(allDays.keys())
    .filter(
      (position) =>
        position === last || toCivilDate(allDays[position]!).year !== toCivilDate(allDays[position + 1]!).year,
    )
    .slice(-years);
  return {
    dates: yearEnds.map((position) => formatDay(allDays[position]!)),
    sectors: computeSectorWeights(columns, yearEnds),
  };
}

/**
 * Returns the weight of each sector on given dates of a run.
 * @param positions positions of the dates, ascending
 */
function computeSectorWeights(columns: RunColumns, positions: ArrayLike<number>): YearEndSectors['sectors'] {
  const allDays = columns.i32('days');
  const days = Array.from(positions, (position) => allDays[position]!);
  const { sectors } = readStoredLabels(columns);
  const sectorByName = new Map(columns.header.names.map((name, i) => [name, sectors[i] ?? NO_SECTOR]));
  const side = runSide(columns, positions);
  const sideGroups = createSideGroups(side.names, days, (name) => ({
    group: sectorByName.get(name)!,
    until: Infinity,
  }));
  const sums = sumGroups(sideGroups, side, days);
  const groups = computeWeightsByGroup(sums, null, { dates: days.length, groups: Infinity });
  return groups.map(({ group, weights }) => ({ sector: group === NO_SECTOR ? null : group, weights }));
}

/** Group of securities without a sector. Reference data never contains an empty text, so no sector has this name. */
const NO_SECTOR = '';

export interface DatedLine {
  readonly days: Int32Array;
  readonly values: Float64Array;
}

export interface Constituent {
  readonly identifier: string;
  readonly name: string | null;
  readonly sector: string | null;
  readonly weight: number;
  readonly rawWeight: number;
  readonly isCapped: boolean;
}

/** Risk of a run's holdings, or the reason why it is unavailable. */
export type RiskResult = { readonly measured: HeldRisk } | Missing;

/** Risk of the held securities, largest contribution first. */
export interface RiskFigures {
  readonly names: readonly (Constituent & { readonly contribution: number })[];
  readonly volatility: number;
  readonly coveredWeight: number;
}

/**
 * Figures of a stored run for reports. Each figure is computed when it is first requested, with the functions of the
 * service's views.
 */
export interface RunFigures {
  /** State of the run if it is stale, with the reasons; null if the run is current. */
  readonly stale: StaleState | null;
  /** Explanation of a level from outside; null if there is none. */
  readonly difference: (ShownDifference & ReadDifference) | null;
  readonly terms: RunTerms;
  readonly overview: OverviewView;
  /** Returns the exposure of the last rebalance. */
  exposure(): ExposurePayload;
  readonly currency: string;
  readonly variant: 'price' | 'total' | 'net';
  readonly hasCap: boolean;
  /** Number of decimals of printed levels. Default: 2. */
  readonly levelDecimals: number;
  /** Number of decimals of printed weights as fractions; null if weights are not rounded. */
  readonly weightDecimals: number | null;
  /** Level of the portfolio, rebased to 100. */
  readonly level: DatedLine;
  indexLevel(): DatedLine;
  /** Returns the external benchmark, rebased to 100; null if there is none. */
  benchmark(): (DatedLine & { readonly id: string }) | null;
  drawdown(): DatedLine;
  /** Returns the trailing volatility and its window in sessions; null if the run is too short. */
  volatility(): (DatedLine & { readonly window: number }) | null;
  annualReturns(): readonly (readonly [year: number, value: number])[];
  monthlyReturns(): readonly MonthReturn[];
  /** Returns the concentration of the weights on the last date. `constituents` returns these weights. */
  concentration(): WeightsView['concentration'];
  /** Returns the constituents on the last date, largest weight first. */
  constituents(): readonly Constituent[];
  /**
   * Returns the weight of each sector on the last date, largest first. Securities without a sector have the sector
   * null.
   */
  sectors(): readonly { readonly sector: string | null; readonly weight: number }[];
  /** Returns the weight of each sector on every date, sorted by descending average weight. */
  sectorHistory(): YearEndSectors['sectors'];
  /** Returns the weights of the sectors at the ends of the latest years. */
  yearEndSectors(years: number): YearEndSectors;
  /**
   * Returns how all published concentration rules were met during the run. If the market has issuers, weights are added
   * by issuer.
   */
  limits(): readonly WatchedRule[];
  /** Concentration rule that triggers rebalances; null if there is none. */
  readonly watchedRule: LimitRuleName | null;
  /** True if the market has issuers; otherwise each security is its own issuer. */
  readonly hasIssuers: boolean;
  /** Returns the breaches of the rule that triggers rebalances; null if there is none. */
  breaches(): WatchedBreaches | null;
  dividendPoints(): DividendPointsView | Missing;
  /**
   * Returns the orders of the latest rebalance, for a portfolio that held the index. Returns null for an overlay, or if
   * the only rebalance is the first purchase.
   */
  pack(aum: number): RebalanceOrders | Missing | null;
  /** Returns the results of scenarios for the holdings on the last date. */
  scenarios(requestedScenarios: readonly Scenario[]): readonly ScenarioResult[] | Missing;
  /** Returns the latest rebalances, newest first. */
  rebalances(limit: number): readonly RebalanceFigures[];
  /**
   * Returns the attribution of the whole run.
   * @throws Refusal TOTAL_LOSS
   */
  attribution(): AttributionView;
  risk(): RiskFigures | Missing;
  findName(identifier: string): string | null;
}

const NO_MARKET: Missing = { missing: 'This needs a served data store, and none is served.' };

/**
 * Windows of the trailing volatility in sessions: one year, one quarter and one month. A window is used only if the run
 * is at least twice as long.
 */
const WINDOWS = [252, 63, 21] as const;

export interface StoredRun {
  readonly columns: RunColumns;
  /** OverviewView as JSON, stored with the run. */
  readonly overview: Uint8Array;
  readonly risk: RiskResult;
  /** Market of the run, aligned to its calendar, or the reason why it is unavailable. */
  readonly market?: SessionMarket | Missing;
  readonly terms: RunTerms;
  /** State of the run. Default: current. */
  readonly stale?: StaleState | null;
  /** Explanation of a level from outside. Default: none. */
  readonly difference?: (ShownDifference & ReadDifference) | null;
}

export function createRunFigures({
  columns,
  overview: storedOverview,
  risk,
  terms,
  market = NO_MARKET,
  stale = null,
  difference = null,
}: StoredRun): RunFigures {
  const { header } = columns;
  const overview = JSON.parse(decodeUtf8(storedOverview)) as OverviewView; // this engine wrote the JSON
  const days = columns.i32('days');
  const level: DatedLine = { days, values: columns.f64('level') };
  const getLabels = callOnce(() => readStoredLabels(columns));
  const getWeights = callOnce(() =>
    createWeightsView({
      runId: header.run_id,
      requestedAsOf: null,
      weights: { ...readPositiveWeights(columns, null), round: (weight) => weight }, // tables and charts round the weights
      benchmark: null,
      findShares: () => null,
      risk: null,
      activeRisk: null,
    }),
  );
  const getConstituents = callOnce(() => toConstituents(getWeights(), header.names, getLabels()));
  const getAttribution = callOnce(() => createAttributionView(columns, { start: null, end: null }));
  const getPositions = callOnce(() => new Map(header.names.map((name, i) => [name, i])));
  return {
    stale,
    difference,
    terms,
    overview,
    exposure: callOnce(() => measureExposure(readLatestTargets(columns))),
    currency: header.currency,
    variant: header.variant,
    hasCap: header.has_cap,
    levelDecimals: readDecimals(columns, 'level', days.at(-1)!) ?? 2,
    weightDecimals: readDecimals(columns, 'weights', days.at(-1)!) ?? null,
    level,
    indexLevel: callOnce(() => ({ days, values: rebase(readIndexSeries(columns, 'indexLevel', days), 100) })),
    benchmark: callOnce(() => findBenchmark(columns)),
    drawdown: callOnce(() => ({ days, values: computeDrawdown(level.values) })),
    volatility: callOnce(() => findVolatility(level)),
    concentration: () => getWeights().concentration,
    annualReturns: callOnce(() => computeAnnualReturns(days, level.values)),
    monthlyReturns: callOnce(() => computeMonthlyReturns(days, level.values)),
    constituents: getConstituents,
    sectors: callOnce(() => listSectors(getConstituents())),
    sectorHistory: callOnce(() =>
      computeSectorWeights(
        columns,
        days.map((_, position) => position),
      ),
    ),
    yearEndSectors: (years) => computeYearEndSectors(columns, years),
    limits: callOnce(() =>
      watchRules(columns, { market: 'missing' in market ? null : market.market, from: 0, to: days.length - 1 }),
    ),
    watchedRule: header.treatment.breach_rule ?? null,
    hasIssuers: !('missing' in market) && market.market.reference.columns.includes(ISSUER),
    breaches: callOnce(() => watchBreaches(columns, 'missing' in market ? null : market.market)),
    dividendPoints: callOnce(() => ('missing' in market ? market : computeRunDividends(columns, market))),
    pack: (aum) => ('missing' in market ? market : computeRebalanceOrders(columns, market, aum)),
    scenarios: (requestedScenarios) =>
      'missing' in market ? market : computeRunScenarios(columns, market, requestedScenarios),
    rebalances: (limit) => listLatestRebalances(columns, limit),
    attribution: getAttribution,
    risk: callOnce(() => ('missing' in risk ? risk : createRiskFigures(risk.measured, getConstituents()))),
    findName: (identifier) => getLabels().names[getPositions().get(identifier) ?? -1] ?? null,
  };
}

function findBenchmark(columns: RunColumns): (DatedLine & { readonly id: string }) | null {
  const { benchmark } = columns.header;
  if (!benchmark || !columns.has('benchmarkDays')) return null;
  return { id: benchmark.id, days: columns.i32('benchmarkDays'), values: columns.f64('benchmarkLevel') };
}

function findVolatility({ days, values }: DatedLine): (DatedLine & { readonly window: number }) | null {
  const returns = computeReturns(values);
  const window = WINDOWS.find((length) => returns.length >= 2 * length);
  return window === undefined
    ? null
    : {
        window,
        days: days.subarray(window),
        values: computeRollingVolatility(returns, window, estimatePeriodsPerYear(days)),
      };
}

function toConstituents({ weights }: WeightsView, names: readonly string[], labels: RunLabels): Constituent[] {
  const positions = new Map(names.map((name, i) => [name, i]));
  return weights.map(({ identifier, weight, raw_weight, capped }) => {
    const position = positions.get(identifier)!;
    return {
      identifier,
      name: labels.names[position] ?? null,
      sector: labels.sectors[position] ?? null,
      weight,
      rawWeight: raw_weight,
      isCapped: capped,
    };
  });
}

function createRiskFigures({ payload, findContribution }: HeldRisk, constituents: readonly Constituent[]): RiskFigures {
  const names = constituents.flatMap((constituent) => {
    const contribution = findContribution(constituent.identifier);
    return contribution === null ? [] : [{ ...constituent, contribution }];
  });
  return {
    names: names.toSorted((a, b) => b.contribution - a.contribution || compareText(a.identifier, b.identifier)),
    volatility: payload.volatility,
    coveredWeight: payload.covered_weight,
  };
}

function listSectors(
  constituents: readonly Constituent[],
): { readonly sector: string | null; readonly weight: number }[] {
  const weights = new Map<string | null, number>();
  for (const { sector, weight } of constituents.toSorted((a, b) => compareText(a.identifier, b.identifier)))
    weights.set(sector, (weights.get(sector) ?? 0) + weight);
  return [...weights]
    .map(([sector, weight]) => ({ sector, weight }))
    .toSorted((a, b) => b.weight - a.weight || compareText(a.sector ?? '', b.sector ?? ''));
}

function listLatestRebalances(columns: RunColumns, limit: number): RebalanceFigures[] {
  const { rebalances } = columns.header;
  const firstRebalance = Math.max(0, rebalances.length - limit);
  const figures: RebalanceFigures[] = [];
  const readWeightsAround = createWeightsReader(columns);
  for (let r = rebalances.length - 1; r >= firstRebalance; r--)
    figures.push(computeRebalanceFigures(readWeightsAround(r), rebalances[r]!));
  return figures;
}

/** Returns the applied weights of the latest rebalance, [H]. */
function readLatestTargets(columns: RunColumns): Float64Array {
  const { names, rebalances } = columns.header;
  return columns.f64('targets', (rebalances.length - 1) * names.length, rebalances.length * names.length);
}

/**
 * Number formats of reports. Numbers have commas between thousands and an ASCII hyphen as minus sign. Percentages and
 * ratios have two decimals. Zero has no minus sign.
 */

export const NOT_MEASURED = 'n/a';

/** Formats a fraction as a percentage: 0.0523 becomes `5.23%`. */
export function formatPercentFigure(fraction: number | null): string {
  return fraction === null ? NOT_MEASURED : `${formatFixed(fraction * 100, 2)}%`;
}

/** Formats a weight as a percentage, with two decimals fewer than the fraction has. */
export function formatWeight(weight: number, decimals: number | null): string {
  if (decimals === null) return formatPercentFigure(weight);
  const percentDecimals = Math.max(0, decimals - 2);
  return `${formatFixed(roundHalfAwayFromZero(roundHalfAwayFromZero(weight, decimals) * 100, percentDecimals), percentDecimals)}%`;
}

/** Formats a ratio or a level, for example `1,234.50`. */
export function formatRatio(value: number | null): string {
  return value === null ? NOT_MEASURED : formatFixed(value, 2);
}

/** Formats a level, rounding halves away from zero. */
export function formatLevel(value: number, decimals: number): string {
  return formatFixed(roundHalfAwayFromZero(value, decimals), decimals);
}

/** Formats basis points, for example `5.00 bps`. */
export function formatBasisPoints(bps: number | null): string {
  return bps === null ? NOT_MEASURED : `${formatFixed(bps, 2)} bps`;
}

/** Formats a count, for example `1,234`. */
export function formatCountFigure(count: number | null): string {
  return count === null ? NOT_MEASURED : formatFixed(count, 0);
}

/**
 * Formats numbers of a template whose meaning is unknown. If all are integers, they are formatted as counts; otherwise
 * as ratios.
 */
export function formatPlainTexts(values: readonly number[]): string[] {
  return values.map(values.every(Number.isInteger) ? formatCountFigure : formatRatio);
}

/** Formats the label of an axis tick, with no more decimals than the step needs. */
export function formatTick(
  value: number,
  { step, unit }: { readonly step: number; readonly unit: 'percent' | 'points' },
): string {
  const scale = unit === 'percent' ? 100 : 1;
  return `${formatFixed(value * scale, countDecimals(step * scale))}${unit === 'percent' ? '%' : ''}`;
}

function countDecimals(step: number): number {
  for (let decimals = 0; decimals < 6; decimals++) {
    const scaledStep = step * raiseToPower(10, decimals);
    if (Math.abs(scaledStep - Math.round(scaledStep)) < 1e-6 * Math.max(1, Math.abs(scaledStep))) return decimals;
  }
  return 6;
}

function formatFixed(value: number, decimals: number): string {
  const digits = Math.abs(value).toFixed(decimals);
  const isNothing = !/[1-9]/.test(digits);
  const [whole, rest] = digits.split('.');
  const groupedDigits = /e/.test(digits) ? whole! : whole!.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `${value < 0 && !isNothing ? '-' : ''}${groupedDigits}${rest === undefined ? '' : `.${rest}`}`;
}

export const RETURN_NAMES: Readonly<Record<ReturnVariant, string>> = {
  price: 'price return',
  total: 'total return',
  net: 'net total return',
};

/**
 * Splits rows into rows that are shown and a rest that becomes one summary row. If the rest is only one row, it is
 * shown as well.
 */
export function splitRows<T>(
  rows: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly others: readonly T[] } {
  const count = rows.length === limit + 1 ? rows.length : limit;
  return { shown: rows.slice(0, count), others: rows.slice(count) };
}
