import { marketOn } from '#domain/backtest/simulate/compositions.js';
import type { RunColumns, RunHeader } from '#domain/backtest/run-file/columns.js';
import { formatDay, type Day } from '#domain/days.js';
import { compareText } from '#domain/findings.js';
import { growthOf } from '#domain/market/growth.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import { riskOf, risksOf, type Positions, type RiskShares } from '#domain/risk/risk-contributions.js';
import { firstAtLeast, lastAtMost } from '#domain/search.js';
import type { Engine } from '#kernels/engines/engine.js';
import { heldWeights, type ActiveRisk, type HeldRisk, type HeldWeights } from '#views/weights-view.js';
import { openedCalendars } from './opened-calendars.js';

/** What of a stored run its risk is measured from. */
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

/** Returns over the run's own level window, in the total variant and the index's currency. */
export function riskWindow({ header, first, last }: HeldRun, market: MarketData): ReturnWindow {
  const sm = marketOn({ market, calendars: openedCalendars(), code: header.calendar });
  const { special_dividends: specialDividends, splits } = header.treatment;
  const growth = growthOf(sm, { variant: 'total', withholdingTax: 0, specialDividends, splits, currency: header.currency });
  return { sm, growth, from: firstAtLeast(sm.sessions, first), to: lastAtMost(sm.sessions, last) };
}

/** The span the returns are asked for, whatever of it the store holds. */
export function windowDates({ first, last }: HeldRun): { readonly window_start: string; readonly window_end: string } {
  return { window_start: formatDay(first), window_end: formatDay(last) };
}

export function heldByName({ names, held }: HeldWeights): ReadonlyMap<string, number> {
  return new Map(names.flatMap((name, i): [string, number][] => (held[i]! > 0 ? [[name, held[i]!]] : [])));
}

/** Weights by column of a market; names it does not hold are left out. */
export function positionsOf(sm: SessionMarket, weights: ReadonlyMap<string, number>): Positions {
  return new Map([...weights].flatMap(([name, weight]): [number, number][] => (sm.columnOf(name) < 0 ? [] : [[sm.columnOf(name), weight]])));
}

export interface MeasureInput {
  readonly held: HeldRun;
  readonly market: MarketData;
  readonly benchmark: { readonly id: string; readonly weights: ReadonlyMap<string, number> } | null;
}

/** Risk of held weights, and against a benchmark when there is one. @throws Refusal RISK_INSUFFICIENT_DATA */
export function measureRisk(engine: Engine, { held, market, benchmark }: MeasureInput): { readonly risk: HeldRisk; readonly active: ActiveRisk | null } {
  const window = riskWindow(held, market);
  const { sm } = window;
  const own = heldByName(held.weights);
  const positions = positionsOf(sm, own);
  const span = windowDates(held);
  const { risk: total, active } = benchmark ? risksOf(engine, window, positions, positionsOf(sm, benchmark.weights)) : { risk: riskOf(engine, window, positions), active: null };
  const risk: HeldRisk = {
    payload: { volatility: total.volatility, covered_weight: total.coveredWeight, uncovered: uncoveredOf(sm, total, own.keys()), ...span },
    contributionOf: (name) => total.contributions.get(sm.columnOf(name)) ?? null,
  };
  if (!benchmark || !active) return { risk, active: null };
  const notHeld = [...benchmark.weights.keys()].filter((name) => !own.has(name) && active.contributions.has(sm.columnOf(name))).toSorted(compareText);
  return {
    risk,
    active: {
      payload: {
        benchmark: benchmark.id,
        tracking_error: active.volatility,
        covered_weight: active.coveredWeight,
        contributions_not_held: Object.fromEntries(notHeld.map((name) => [name, active.contributions.get(sm.columnOf(name))!])),
        uncovered: uncoveredOf(sm, active, new Set([...own.keys(), ...benchmark.weights.keys()])),
        ...span,
      },
      contributionOf: (name) => active.contributions.get(sm.columnOf(name)) ?? null,
    },
  };
}

/** Names without an estimate, ascending: those too little is known of, and those the served market does not hold. */
export function uncoveredOf(sm: SessionMarket, { uncovered }: Pick<RiskShares, 'uncovered'>, names: Iterable<string>): string[] {
  const absent = [...names].filter((name) => sm.columnOf(name) < 0);
  return [...uncovered.map((column) => sm.identifiers[column]!), ...absent].toSorted(compareText);
}
