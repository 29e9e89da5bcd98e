import { marketOn } from '#domain/books/market-on.js';
import { type RunHeader } from '#domain/backtest/run-file/header.js';
import { currencyOfSecurities, runTreatment } from '#domain/backtest/run-file/settings.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay, type Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { growthOf } from '#domain/index-mathematics/growth.js';
import { securityTerms } from '#domain/index-mathematics/growth-terms.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { leftOutSentence } from '#domain/risk/left-out.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import { riskOf, risksOf, type Positions, type RiskShares } from '#domain/risk/risk-contributions.js';
import type { CrossSections } from '#domain/datapoints/cross-section.js';
import { firstAtLeast, lastAtMost } from '#domain/numbers/search.js';
import type { Engine } from '#kernels/engines/engine.js';
import { heldWeights, type ActiveRisk, type HeldRisk, type HeldWeights } from '#views/weights-view.js';
import { datapointsOf } from '#views/index-datapoints.js';
import { openedCalendars } from '../input/opened-calendars.js';

/** The inputs of risk from a stored run. */
export interface HeldRun {
  readonly header: RunHeader;
  readonly weights: HeldWeights;
  /** First and last day of the run's level. */
  readonly first: Day;
  readonly last: Day;
}

/** @throws Refusal NO_DATA_AT_DATE before the first date of the run */
export function readHeld(run: RunColumns, asOf: string | null): HeldRun {
  const days = run.i32('days');
  return { header: run.header, weights: heldWeights(run, asOf), first: days[0]!, last: days.at(-1)! };
}

/**
 * Returns over the run's own level window, in the total variant and the index's currency.
 * @param onPart called between parts, of which the thread keeps what was made when it throws
 */
export function riskWindow(
  { header, first, last }: HeldRun,
  market: MarketData,
  onPart: () => void = () => {},
): ReturnWindow {
  const calendars = openedCalendars();
  onPart();
  calendars.get(header.calendar);
  onPart();
  const sm = marketOn({ market, calendars, code: header.calendar });
  onPart();
  const { special_dividends: specialDividends, splits } = header.treatment;
  const growth = growthOf(sm, { ...securityTerms('total', currencyOfSecurities(header)), specialDividends, splits });
  return { sm, growth, from: firstAtLeast(sm.sessions, first), to: lastAtMost(sm.sessions, last) };
}

/** Datapoints on the terms of a run. */
export function heldDatapoints({ sm }: ReturnWindow, header: RunHeader): CrossSections {
  return datapointsOf(sm, { treatment: runTreatment(header.treatment), currency: currencyOfSecurities(header) });
}

/** The span the returns are asked for, whatever of it the store holds. */
export function windowDates({ first, last }: HeldRun): { readonly window_start: string; readonly window_end: string } {
  return { window_start: formatDay(first), window_end: formatDay(last) };
}

/** Weights by name, of those that are held. */
export function heldByName(names: readonly string[], held: Float64Array): ReadonlyMap<string, number> {
  return new Map(names.flatMap((name, i): [string, number][] => (held[i] !== 0 ? [[name, held[i]!]] : [])));
}

/** Weights by column of a market; names it does not hold are left out. */
export function positionsOf(sm: SessionMarket, weights: ReadonlyMap<string, number>): Positions {
  return new Map(
    [...weights].flatMap(([name, weight]): [number, number][] =>
      sm.columnOf(name) < 0 ? [] : [[sm.columnOf(name), weight]],
    ),
  );
}

/**
 * What a run holds by column of a market.
 * @throws Refusal RISK_INSUFFICIENT_DATA when the market has none of its names: that is no risk of 0
 */
export function heldPositions(sm: SessionMarket, own: ReadonlyMap<string, number>): Positions {
  const positions = positionsOf(sm, own);
  if (own.size > 0 && positions.size === 0) throw unpriced(own.keys(), 'not in the served store');
  return positions;
}

/**
 * That the served market has a price of one of the names between two days at least.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 * @cost up to the first bar of the first name that has one
 */
export function assertPriced(
  { identifiers, dates, fields }: MarketData,
  { names, first, last }: { readonly names: readonly string[]; readonly first: Day; readonly last: Day },
): void {
  if (names.length === 0) return; // Cash has no price.
  const closes = fields.get('CLOSE');
  const columns = new Map(identifiers.map((name, column) => [name, column]));
  const from = firstAtLeast(dates, first);
  const to = lastAtMost(dates, last);
  for (const name of names) {
    const column = columns.get(name);
    if (column === undefined || closes === undefined) continue;
    for (let row = from; row <= to; row++) if (!Number.isNaN(closes[row * identifiers.length + column]!)) return;
  }
  throw unpriced(names, `no price from ${formatDay(first)} to ${formatDay(last)}`);
}

function unpriced(names: Iterable<string>, why: string): Refusal {
  const excluded = new Map([...names].toSorted(compareText).map((name) => [name, why]));
  const detail = { assets: 0, observations: 0, observations_needed: LIMITS.MIN_MODEL_OBSERVATIONS };
  return new Refusal(
    'RISK_INSUFFICIENT_DATA',
    `0 of ${excluded.size} names are covered; at least 1 name is needed. ${leftOutSentence(excluded)}`,
    detail,
  );
}

/** A benchmark with its weights on the date of the holdings. */
export interface ComparedWeights {
  readonly id: string;
  readonly weights: ReadonlyMap<string, number>;
}

export interface MeasureInput {
  readonly held: HeldRun;
  readonly market: MarketData;
  readonly benchmark: ComparedWeights | null;
  /** Called between parts: see `riskWindow`. */
  readonly onPart?: () => void;
}

/** Risk of held weights, and against a benchmark when there is one. */
export interface MeasuredHoldings {
  readonly risk: HeldRisk;
  readonly active: ActiveRisk | null;
}

/** Risk of held weights, and against a benchmark when there is one. @throws Refusal RISK_INSUFFICIENT_DATA */
export function measureRisk(
  engine: Engine,
  { held, market, benchmark, onPart = () => {} }: MeasureInput,
): MeasuredHoldings {
  const window = riskWindow(held, market, onPart);
  onPart();
  const { sm } = window;
  const own = heldByName(held.weights.names, held.weights.held);
  const positions = heldPositions(sm, own);
  const span = { risk_model: null, risk_estimator: null, ...windowDates(held) };
  const { risk: total, active } = benchmark
    ? risksOf(engine, window, positions, positionsOf(sm, benchmark.weights))
    : { risk: riskOf(engine, window, positions), active: null };
  const risk: HeldRisk = {
    payload: {
      volatility: total.volatility,
      covered_weight: total.coveredWeight,
      uncovered: uncoveredOf(sm, total, own.keys()),
      ...span,
    },
    contributionOf: (name) => total.contributions.get(sm.columnOf(name)) ?? null,
  };
  if (!benchmark || !active) return { risk, active: null };
  const notHeld = [...benchmark.weights.keys()]
    .filter((name) => !own.has(name) && active.contributions.has(sm.columnOf(name)))
    .toSorted(compareText);
  return {
    risk,
    active: {
      payload: {
        benchmark: benchmark.id,
        tracking_error: active.volatility,
        covered_weight: active.coveredWeight,
        contributions_not_held: Object.fromEntries(
          notHeld.map((name) => [name, active.contributions.get(sm.columnOf(name))!]),
        ),
        uncovered: uncoveredOf(sm, active, new Set([...own.keys(), ...benchmark.weights.keys()])),
        ...span,
      },
      contributionOf: (name) => active.contributions.get(sm.columnOf(name)) ?? null,
    },
  };
}

/** Names without an estimate, ascending: those too little is known of, and those the served market does not hold. */
export function uncoveredOf(
  sm: SessionMarket,
  { uncovered }: Pick<RiskShares, 'uncovered'>,
  names: Iterable<string>,
): string[] {
  const absent = [...names].filter((name) => sm.columnOf(name) < 0);
  return [...uncovered.map((column) => sm.identifiers[column]!), ...absent].toSorted(compareText);
}
