import type { Memory } from '#base/memory.js';
import { createRunColumns, openColumns, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { fc } from '../../fast-check.js';
import type { DatedMarkets } from '#domain/books/composer.js';
import type { DeciderFactory } from '#domain/books/compositions.js';
import type { Run } from '#domain/backtest/run.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { ResolvedRequest, StrategyTerms } from '#domain/definition/backtest-plan.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import { createWeekdayCalendars } from './market-builder.js';
import { HOLIDAYS, OTHER_HOLIDAYS } from './random-market.js';
import { randomDates, randomReviews } from './random-reviews.js';
import { createPlainDecider, SIGNED_DECIDERS } from './test-deciders.js';
import { createDocument } from '../index-document.js';

export const CALENDARS = createWeekdayCalendars({
  MAIN: { from: '2023-12-01', to: '2024-06-30', holidays: HOLIDAYS },
  OTHER: { from: '2023-12-01', to: '2024-06-30', holidays: OTHER_HOLIDAYS },
});

/** Random definitions over all securities, as documents of the API. */
export const randomDocument = fc
  .record({
    rebalance: fc.record({
      frequency: fc.constantFrom('none', 'daily', 'weekly', 'monthly'),
      anchor: fc.constantFrom('last_session', 'first_session', 'day_of_month'),
      day: fc.constant(15),
      roll: fc.constantFrom('following', 'preceding', 'unadjusted'),
      effective_lag: fc.constantFrom(0, 0, 1, 3),
      weights_as: fc.constantFrom('shares', 'weights'),
      ...randomDates,
    }),
    reviews: randomReviews,
    treatment: fc.record({
      dividends: fc.constantFrom('price', 'total', 'net'),
      withholding_tax: fc.constantFrom(0, 0.15),
      reinvestment: fc.constantFrom('index', 'constituent'),
      special_dividends: fc.constantFrom('adjust', 'constituent', 'reinvest', 'ignore'),
      rights: fc.constantFrom('subscribe', 'price_only', 'constituent', undefined),
      delisting: fc.constantFrom('last_price', 'zero', 'action_value'),
      spin_offs: fc.constantFrom('zero_price', 'drop_after_first_session', 'ignore'),
      missing_prices: fc.constantFrom('carry', 'exclude'),
      max_stale_sessions: fc.constantFrom(0, 1, 5),
      stale_targets: fc.constantFrom('carry', 'carry', 'defer'),
    }),
    weighting: fc.record({
      type: fc.constantFrom('EqualWeight', 'MarketCapWeight', 'PriceWeight'),
      cap: fc.constantFrom(null, 0.3, 0.15),
    }),
    rounded: fc.constantFrom({}, {}, { rounding: { divisor: 4 } }),
  })
  .map(({ rebalance, reviews, rounded, treatment, weighting }) =>
    createDocument({
      base_date: '2023-12-27',
      rebalance,
      ...(reviews === undefined ? {} : { reviews }),
      pipeline: {
        treatment: treatment.max_stale_sessions === 1 ? { ...treatment, reinvestment_at: 'previous_close' } : treatment,
        weighting,
      },
      ...rounded,
    }),
  );

export const randomRequest = fc.record({
  start: fc.constantFrom(null, '2024-01-04', '2024-01-10'),
  initial_capital: fc.constantFrom(1_000_000, 1),
  transaction_cost_bps: fc.constantFrom(0, 10, 250),
});

/** Random functions that decide weights: the one of the definition, or one with short positions and cash. */
export const randomDecider = fc.constantFrom(createPlainDecider, createPlainDecider, ...SIGNED_DECIDERS);

export interface RunRequest extends Partial<ResolvedRequest> {
  readonly documents?: Readonly<Record<string, IndexDocument>>;
  readonly strategy?: StrategyTerms;
  readonly memory?: Memory;
  readonly pricesApart?: boolean;
  readonly known?: DatedMarkets;
  readonly createDecider?: DeciderFactory;
}

export function run(market: MarketData, document: IndexDocument, request: RunRequest = {}): Run {
  return runOn(CALENDARS, market, document, request);
}

export function runOn(
  calendars: Calendars,
  market: MarketData,
  document: IndexDocument,
  {
    documents = {},
    strategy,
    memory,
    pricesApart = false,
    known,
    createDecider = createPlainDecider,
    ...request
  }: RunRequest = {},
): Run {
  return runBacktest({
    market,
    calendars,
    createDecider,
    ...(memory === undefined ? {} : { memory, pricesApart }),
    known,
    report: () => {},
    plan: {
      runId: document.id,
      name: document.name,
      indexId: document.id,
      documents: { [document.id]: document, ...documents },
      request: {
        benchmark: null,
        start: null,
        end: null,
        initial_capital: 1_000_000,
        transaction_cost_bps: 0,
        ...(known === undefined ? {} : { as_known: 'decision' }),
        ...request,
      },
      ...(strategy === undefined ? {} : { strategy }),
    },
  });
}

/** Returns a run, or undefined if the random market was refused for an expected reason. */
export function tryRun(market: MarketData, document: IndexDocument, request: RunRequest = {}): Run | undefined {
  try {
    const result = run(market, document, request);
    result.uncapped?.(); // may be refused like the run
    return result;
  } catch (refusal) {
    if (refusal instanceof Refusal && EXPECTED.has(refusal.code)) return undefined;
    throw refusal;
  }
}

/**
 * Codes of expected refusals. EURUSD may have no rate yet. All securities may have ended by the start. Too few may
 * remain for the optimisation constraints. Short positions may lose everything.
 */
const EXPECTED = new Set([
  'FX_MISSING',
  'EMPTY_INDEX',
  'INFEASIBLE',
  'RANGE_TOO_SHORT',
  'NO_DATA_IN_RANGE',
  'NUMERIC_FAILURE',
]);

export function createColumns(run: Run): RunColumns {
  const bytes = createRunColumns(run, { contentHash: 's' });
  return openColumns((start, end) => bytes.slice(start, end));
}
