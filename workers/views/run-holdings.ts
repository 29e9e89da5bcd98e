import { readSecurityCurrency, restoreTreatment, type RunHeader } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { compareText } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { createComposer } from '#domain/books/composer.js';
import { isOutside } from '#domain/books/universe.js';
import { openMarketOn, type SessionMarket } from '#domain/market/session-market.js';
import { listClosures } from '#domain/calendars/calendar.js';
import type { CrossSections } from '#domain/datapoints/cross-section.js';
import { createSecurityTerms } from '#domain/market/action-effects.js';
import { computeGrowth } from '#domain/market/growth.js';
import type { MarketData } from '#domain/market/market-data.js';
import { createExchangeRates } from '#domain/market/rates.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import {
  computeActiveByName,
  computeRisk,
  computeRisks,
  type RiskShares,
  type WeightByColumn,
} from '#domain/risk/contributions.js';
import { describeExclusion, type ReturnWindow } from '#domain/risk/return-panel.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import {
  type ActionsInput,
  createActionsView,
  createProFormaRows,
  formatProFormaCsv,
  readHoldingsAtEnd,
} from '#views/actions.js';
import type { JsonWriter } from '#views/json/writer.js';
import { createDatapoints } from '#views/risk-estimate.js';
import { type ActiveRisk, type HeldRisk, readPositiveWeights, type WeightsOnDate } from '#views/weights.js';
import { openCachedCalendars, openCachedMarket, openModels } from '../input/inputs.js';
import { useRunFile } from '../run-files.js';

/** Inputs of risk from a stored run. */
export interface RunHoldings {
  readonly header: RunHeader;
  readonly weights: WeightsOnDate;
  /** First and last day of the run's level. */
  readonly first: Day;
  readonly last: Day;
}

/** Reads the holdings of a run on a date. @throws Refusal NO_DATA_AT_DATE before the first date of the run */
export function readHoldings(run: RunColumns, asOf: string | null): RunHoldings {
  const days = run.i32('days');
  return { header: run.header, weights: readPositiveWeights(run, asOf), first: days[0]!, last: days.at(-1)! };
}

/**
 * Reads returns over the window of the run's levels, in the total variant and the index's currency.
 * @param onPart called between parts; completed parts are cached if it throws
 */
export function readRiskWindow(
  { header, first, last }: RunHoldings,
  market: MarketData,
  onPart: () => void = () => {},
): ReturnWindow {
  const calendars = openCachedCalendars(header.closures);
  onPart();
  calendars.get(header.calendar);
  onPart();
  const sm = openMarketOn({ market, calendars, code: header.calendar });
  onPart();
  const { special_dividends: specialDividends, splits } = header.treatment;
  const growth = computeGrowth(sm, {
    ...createSecurityTerms('total', readSecurityCurrency(header)),
    specialDividends,
    splits,
  });
  return { sm, growth, from: findFirstAtLeast(sm.sessions, first), to: findLastAtMost(sm.sessions, last) };
}

export function createHoldingDatapoints({ sm }: ReturnWindow, header: RunHeader): CrossSections {
  return createDatapoints(sm, {
    treatment: restoreTreatment(header.treatment),
    currency: readSecurityCurrency(header),
  });
}

/** Returns the requested span of returns. It does not depend on the data of the store. */
export function formatWindowDates({ first, last }: RunHoldings): {
  readonly window_start: string;
  readonly window_end: string;
} {
  return { window_start: formatDay(first), window_end: formatDay(last) };
}

/** Returns the non-zero weights by security. */
export function listHoldingsByName(names: readonly string[], weights: Float64Array): ReadonlyMap<string, number> {
  return new Map(names.flatMap((name, i): [string, number][] => (weights[i] !== 0 ? [[name, weights[i]!]] : [])));
}

/** Returns the sum of the magnitudes of the weights of securities that a market does not have. */
export function sumAbsent(sm: SessionMarket, weights: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const [name, weight] of weights) if (sm.columnOf(name) < 0) total += Math.abs(weight);
  return total;
}

/** Returns weights by column of a market. Omits securities that the market does not have. */
export function getPositions(sm: SessionMarket, weights: ReadonlyMap<string, number>): WeightByColumn {
  return new Map(
    [...weights].flatMap(([name, weight]): [number, number][] =>
      sm.columnOf(name) < 0 ? [] : [[sm.columnOf(name), weight]],
    ),
  );
}

/**
 * Returns the holdings of a run by column of a market.
 * @throws Refusal RISK_INSUFFICIENT_DATA if the market has none of its securities, because the risk is unknown, not 0
 */
export function findHoldingPositions(sm: SessionMarket, weights: ReadonlyMap<string, number>): WeightByColumn {
  const positions = getPositions(sm, weights);
  if (weights.size > 0 && positions.size === 0) throw refuseUnpriced(weights.keys(), 'not in the served store');
  return positions;
}

/**
 * Checks that the served market has a price of at least one of the securities between two days.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 * @cost of a scan up to the first bar of the first security with one
 */
export function assertPriced(
  { identifiers, dates, fields }: MarketData,
  { names, first, last }: { readonly names: readonly string[]; readonly first: Day; readonly last: Day },
): void {
  if (names.length === 0) return; // cash has no price
  const closes = fields.get('CLOSE');
  const columns = new Map(identifiers.map((name, column) => [name, column]));
  const from = findFirstAtLeast(dates, first);
  const to = findLastAtMost(dates, last);
  for (const name of names) {
    const column = columns.get(name);
    if (column === undefined || closes === undefined) continue;
    for (let row = from; row <= to; row++) if (!Number.isNaN(closes[row * identifiers.length + column]!)) return;
  }
  throw refuseUnpriced(names, `no price from ${formatDay(first)} to ${formatDay(last)}`);
}

function refuseUnpriced(names: Iterable<string>, why: string): Refusal {
  const excludedReasons = new Map([...names].toSorted(compareText).map((name) => [name, why]));
  const detail = { assets: 0, observations: 0, observations_needed: LIMITS.MIN_MODEL_OBSERVATIONS };
  return new Refusal(
    'RISK_INSUFFICIENT_DATA',
    `0 of ${excludedReasons.size} securities are covered; at least 1 security is required. ${describeExclusion(excludedReasons)}`,
    detail,
  );
}

export interface ComparedWeights {
  readonly id: string;
  readonly weights: ReadonlyMap<string, number>;
}

export interface MeasureInput {
  readonly runHoldings: RunHoldings;
  readonly market: MarketData;
  readonly benchmark: ComparedWeights | null;
  /** Called between parts: see `readRiskWindow`. */
  readonly onPart?: () => void;
}

/** Risk of the holdings, and active risk if there is a benchmark. */
export interface MeasuredHoldings {
  readonly risk: HeldRisk;
  readonly active: ActiveRisk | null;
}

/**
 * Measures the risk of the holdings, and active risk if there is a benchmark. @throws Refusal RISK_INSUFFICIENT_DATA
 */
export function measureRisk(
  engine: Engine,
  { runHoldings, market, benchmark, onPart = () => {} }: MeasureInput,
): MeasuredHoldings {
  const window = readRiskWindow(runHoldings, market, onPart);
  onPart();
  const { sm } = window;
  const weights = listHoldingsByName(runHoldings.weights.names, runHoldings.weights.held);
  const positions = findHoldingPositions(sm, weights);
  const span = { risk_model: null, risk_estimator: null, ...formatWindowDates(runHoldings) };
  const { risk: total, active } = benchmark
    ? computeRisks(engine, window, positions, getPositions(sm, benchmark.weights), {
        risk: sumAbsent(sm, weights),
        active: sumAbsent(sm, computeActiveByName(weights, benchmark.weights)),
      })
    : { risk: computeRisk(engine, window, positions, sumAbsent(sm, weights)), active: null };
  const risk: HeldRisk = {
    payload: {
      volatility: total.volatility,
      covered_weight: total.coveredWeight,
      uncovered: listUncovered(sm, total, weights.keys()),
      observations: total.observations,
      ...span,
    },
    findContribution: (name) => total.contributions.get(sm.columnOf(name)) ?? null,
  };
  if (!benchmark || !active) return { risk, active: null };
  const absentNames = [...benchmark.weights.keys()]
    .filter((name) => !weights.has(name) && active.contributions.has(sm.columnOf(name)))
    .toSorted(compareText);
  return {
    risk,
    active: {
      payload: {
        benchmark: benchmark.id,
        tracking_error: active.volatility,
        covered_weight: active.coveredWeight,
        contributions_not_held: Object.fromEntries(
          absentNames.map((name) => [name, active.contributions.get(sm.columnOf(name))!]),
        ),
        uncovered: listUncovered(sm, active, new Set([...weights.keys(), ...benchmark.weights.keys()])),
        observations: active.observations,
        ...span,
      },
      findContribution: (name) => active.contributions.get(sm.columnOf(name)) ?? null,
    },
  };
}

/**
 * Lists the securities without an estimate, ascending. They are securities with too little data, and securities that
 * the served market does not have.
 */
export function listUncovered(
  sm: SessionMarket,
  { uncovered }: Pick<RiskShares, 'uncovered'>,
  names: Iterable<string>,
): string[] {
  const absentSecurities = [...names].filter((name) => sm.columnOf(name) < 0);
  return [...uncovered.map((column) => sm.identifiers[column]!), ...absentSecurities].toSorted(compareText);
}

type ActionsQuery = InputOfView<'actions'>;

/** Lists the corporate actions on the securities of a stored run. */
export const showActions = (query: ActionsQuery): ReturnType<typeof createActionsView> =>
  useRunFile(query.columns, (run) => createActionsView(run, createInput(run, query)));

/** Formats the index after each coming action, as CSV. */
export function showProForma(query: ActionsQuery): string {
  return useRunFile(query.columns, (run) => {
    const input = createInput(run, query);
    const { actions } = createActionsView(run, input);
    return formatProFormaCsv(createProFormaRows(actions, readHoldingsAtEnd(run, input)));
  });
}

function createInput(run: RunColumns, query: ActionsQuery): ActionsInput {
  return { ...createTerms(run, query), ...createDates(query), outside: findOutside(run, query) };
}

/** Returns past and future mergers that remove a security from the index of a run. */
function findOutside(run: RunColumns, { removing, market: handle }: ActionsQuery): ActionsInput['outside'] {
  if (removing === null) return undefined;
  const { indexId, documents, models } = removing;
  const last = run.i32('days').at(-1)!;
  const composer = createComposer({
    market: openCachedMarket(handle),
    calendars: openCachedCalendars(listClosures(documents)),
    documents,
    models: openModels(models),
    until: last,
    createDecider: createIndexDeciders(referenceEngine),
  });
  const mergers = composer.outsideMergers(indexId);
  if (mergers === undefined) return undefined;
  const session = findLastAtMost(composer.market(indexId).sessions, last);
  return {
    mergers,
    isComing: ({ type, related, exDay: day }) =>
      type === 'MERGER' && related !== null && isOutside(composer, indexId, { session, day, related }),
  };
}

function createTerms(run: RunColumns, { market: handle }: ActionsQuery) {
  const { calendar, closures, currency } = run.header;
  const sm = openMarketOn({
    market: openCachedMarket(handle),
    calendars: openCachedCalendars(closures),
    code: calendar,
  });
  return { sm, rates: createExchangeRates(sm, currency) };
}

const createDates = ({ from, to }: ActionsQuery) => ({ from: parseOptionalDay(from), to: parseOptionalDay(to) });
const parseOptionalDay = (date: string | undefined) => (date === undefined ? null : parseValidDay(date));

export interface ComputedView {
  /** Expected number of bytes, if it can be estimated. */
  readonly bytes?: number;
  write(json: JsonWriter): void;
}

/** Returns the requested window. An open side is null. */
export const createWindow = ({ start, end }: Window) => ({ start: start ?? null, end: end ?? null });

interface Window {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}
