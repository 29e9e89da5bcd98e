import { decodeUtf8 } from '#base/text/utf8.js';
import { readDecimals } from '../rounded.js';
import { estimatePeriodsPerYear } from '#domain/calendars/periods-per-year.js';
import type { DividendPointsView } from '#contract/analytics/dividend-points.js';
import type { WeightsView } from '#contract/analytics/weights.js';
import type { AttributionView } from '#contract/analytics/attribution.js';
import type { OverviewView } from '#contract/analytics/overview.js';
import { measureExposure, type ExposurePayload } from '#domain/analytics/exposure.js';
import { computeMonthlyReturns, computeRollingVolatility, type MonthReturn } from '#domain/analytics/rolling.js';
import { computeAnnualReturns, computeDrawdown, rebase, computeReturns } from '#domain/analytics/series.js';
import { ISSUER } from '#domain/compliance/breach-watch.js';
import type { LimitRuleName } from '#domain/compliance/rules.js';
import type { RunLabels } from '#domain/backtest/run-file/labels.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { StaleState } from '#domain/backtest/stale-reasons.js';
import { compareText } from '#domain/refusals/findings.js';
import { callOnce } from '#base/once.js';
import type { RunTerms } from '#domain/reports/run-terms.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { createAttributionView } from '../attribution-view.js';
import type { Scenario } from '#domain/scenarios/scenario-request.js';
import {
  computeRebalanceOrders,
  computeRunDividends,
  computeRunScenarios,
  type RebalanceOrders,
  type ScenarioResult,
} from './market-figures.js';
import type { Missing } from './missing.js';
import { computeRebalanceFigures, createWeightsReader, type RebalanceFigures } from '../rebalance-figures.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { watchBreaches, watchRules, type WatchedBreaches, type WatchedRule } from '../limits/watched-rules.js';
import { readStoredLabels } from '../stored-labels.js';
import { computeSectorWeights, computeYearEndSectors, type YearEndSectors } from '../year-end-sectors.js';
import { readPositiveWeights, createWeightsView, type HeldRisk } from '../weights-view.js';

/** A series with its own days. */
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
  /** Returns the dividends in index points. */
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
}

export function createRunFigures({
  columns,
  overview: storedOverview,
  risk,
  terms,
  market = NO_MARKET,
  stale = null,
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
    terms,
    overview,
    exposure: callOnce(() => measureExposure(readLatestTargets(columns))),
    currency: header.currency,
    variant: header.variant,
    hasCap: header.has_cap,
    levelDecimals: readDecimals(columns, 'level', days.at(-1)!) ?? 2,
    weightDecimals: readDecimals(columns, 'weights', days.at(-1)!) ?? null,
    level,
    indexLevel: callOnce(() => ({ days, values: readIndexLevels(columns, days) })),
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

/** Returns the level of the index that the portfolio follows, on the dates of the run. It is rebased to 100. */
function readIndexLevels(columns: RunColumns, days: Int32Array): Float64Array {
  const indexDays = columns.i32('indexDays');
  const from = findLastAtMost(indexDays, days[0]!);
  return rebase(columns.f64('indexLevel', from, from + days.length), 100);
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
