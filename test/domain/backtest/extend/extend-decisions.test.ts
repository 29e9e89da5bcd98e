import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Calendars } from '#domain/calendars/calendar.js';
import { checkpointOf } from '#domain/backtest/extend/checkpoint.js';
import { indexDecider } from '#domain/backtest/simulate/index-decider.js';
import type { Run } from '#domain/backtest/run.js';
import { runToColumns } from '#domain/backtest/run-file/write.js';
import { formatDay } from '#domain/days.js';
import { IndexDocument, RebalanceSpec } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusal.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import { runResultJson } from '#views/run-json.js';
import {
  cut,
  expectSameReads,
  extend,
  filesAfter,
  keptResult,
  opened,
  resultAfter,
  resultText,
  STAMP,
  told,
  type StoredRun,
} from './extended.js';
import { randomMarketOver } from '../random-market.js';
import { CALENDARS, runOn, type RunRequest } from '../random-run.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 40);

/** Long enough for a covariance of 21 returns behind every day that is added. */
const randomMarket = randomMarketOver(fc.integer({ min: 60, max: 80 }));
const DAYS_ADDED = 14;

/** A market whose names have a volume as well, and are in a universe until the one or the other leaves it. */
function withVolume(market: MarketData): MarketData {
  const close = market.fields.get('CLOSE')!;
  const volume = close.map((price, cell) => (price === price ? 1000 + ((cell * 7919) % 997) : Number.NaN));
  const universes = market.identifiers
    .filter((_, n) => n % 4 !== 3)
    .map((identifier, n) => ({
      universe: 'U',
      identifier,
      start: null,
      end: n % 3 === 2 ? market.dates.at(-5)! : null,
    }));
  return { ...market, fields: new Map([...market.fields, ['VOLUME', volume]]), universes };
}

const randomField = fc
  .record({
    name: fc.constantFrom(
      'RETURN',
      'VOLATILITY',
      'MOMENTUM',
      'BETA',
      'DIVIDEND_YIELD',
      'AGE',
      'MARKET_CAP',
      'VALUE_TRADED',
      'CLOSE',
    ),
    lag: fc.constantFrom(0, 0, 3),
    window: fc.integer({ min: 2, max: 20 }),
    aggregate: fc.constantFrom('last', 'mean', 'std', 'sum', 'count'),
  })
  .map(({ name, lag, window, aggregate }) => {
    const isStatistic = ['VOLATILITY', 'MOMENTUM', 'BETA'].includes(name);
    return {
      node: 'field',
      name,
      lag,
      window: isStatistic || aggregate !== 'last' ? window : null,
      aggregate: isStatistic ? 'last' : aggregate,
      transform: 'rank',
    };
  });

const randomRule = fc.oneof(
  fc.record({ field: randomField, value: fc.integer({ min: 3, max: 8 }) }).map(({ field, value }) => ({
    type: 'ExpressionFilter',
    params: { expression: { node: 'comparison', field, comparison: 'le', value } },
  })),
  fc.constantFrom(
    { type: 'BufferedTopN', params: { field: 'VALUE_TRADED', count: 4, enter_rank: 3, exit_rank: 6 } },
    { type: 'DividendFilter', params: { minimum_yield: 0 } },
    { type: 'HistoryFilter', params: { sessions: 15, coverage: 0.8 } },
    { type: 'MomentumFilter', params: { window: 12, skip: 2, minimum: -0.1 } },
    { type: 'VolatilityFilter', params: { window: 15, maximum: 0.9 } },
    { type: 'SeasoningFilter', params: { sessions: 10 } },
    { type: 'LiquidityFilter', params: { minimum: 10_000, window: 10, incumbent_minimum: 1000 } },
  ),
);

const randomWeighting = fc.constantFrom(
  { type: 'EqualWeight' },
  { type: 'MarketCapWeight', cap: 0.35 },
  { type: 'InverseVolatilityWeight', params: { window: 18, minimum_observations: 4 } },
  { type: 'MinimumVarianceWeight', params: { window: 21, upper: 0.5 } },
  { type: 'EqualRiskWeight', params: { window: 22 } },
  { type: 'FieldWeight', params: { field: 'VALUE_TRADED' }, cap: 0.5 },
  { type: 'GroupWeight', params: { field: 'SECTOR', between: 'equal', within: 'market_cap' } },
);

/** Another index of the market: what the universe of the first may be, on a calendar and a schedule of its own. */
const randomParent = fc.constantFrom('MAIN', 'OTHER').map((calendar) =>
  IndexDocument.parse({
    id: 'P',
    name: 'P',
    calendar,
    base_date: '2023-12-28',
    rebalance: { frequency: 'weekly' },
    pipeline: {
      selection: [{ id: 's', type: 'TopN', params: { field: 'MOMENTUM', count: 6 } }]
        .slice(calendar === 'MAIN' ? 1 : 0)
        .concat([
          {
            id: 'n',
            type: 'BufferedTopN',
            params: { field: 'VALUE_TRADED', count: 5, enter_rank: 4, exit_rank: 7 },
          } as never,
        ]),
      weighting: { type: 'EqualWeight' },
    },
  }),
);

const randomDefinition = fc
  .record({
    frequency: fc.constantFrom('daily', 'weekly', 'monthly'),
    lag: fc.constantFrom(0, 0, 2),
    stale: fc.constantFrom(0, 1, 5),
    adjusted: fc.constantFrom('none', 'splits', 'total'),
    universe: fc.constantFrom(
      { kind: 'all' },
      { kind: 'named', id: 'U' },
      { kind: 'index', id: 'P' },
      { kind: 'list', identifiers: ['AA', 'BB', 'CC', 'EE', 'HH', 'NEW'] },
    ),
    rules: fc.array(randomRule, { maxLength: 2 }),
    weighting: randomWeighting,
    parent: randomParent,
    isMeasured: fc.boolean(),
  })
  .map(({ frequency, lag, stale, universe, rules, weighting, ...rest }) => ({
    ...rest,
    document: IndexDocument.parse({
      id: 'X',
      name: 'X',
      calendar: 'MAIN',
      base_date: '2024-02-08',
      universe,
      rebalance: { frequency, effective_lag: lag },
      pipeline: {
        treatment: { dividends: 'total', max_stale_sessions: stale },
        selection: rules.map((rule, i) => ({ id: `r${i}`, ...rule })),
        weighting,
      },
    }),
  }));

/** What becomes of a run: itself, or the code that it is refused with. */
function outcomeOf(work: () => Run): Run | string {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown.code;
    throw thrown;
  }
}

interface Tally {
  extended: number;
  rebalanced: number;
  /** Steps after which a name was held that never was before. */
  joined: number;
  /** Decisions made on the whole market. */
  wholes: number;
  readonly reasons: Record<string, number>;
}

const newTally = (): Tally => ({ extended: 0, rebalanced: 0, joined: 0, wholes: 0, reasons: {} });

interface Growing {
  readonly market: MarketData;
  readonly document: IndexDocument;
  readonly request: RunRequest;
  /** Sessions of the first run, and those added at a time. */
  readonly rows: number;
  readonly steps: readonly number[];
  readonly tally: Tally;
  readonly calendars?: Calendars;
  /** Dates that a file of columns may have. */
  readonly datesMax?: number;
}

/** Extends a run again and again, as long as that is possible, and compares everything that is kept with the whole run. */
function expectGoesOn({
  market,
  document,
  request,
  rows,
  steps,
  tally,
  calendars = CALENDARS,
  datesMax = 0,
}: Growing): void {
  const begun = outcomeOf(() => runOn(calendars, cut(market, rows), document, request));
  if (typeof begun === 'string') return;
  let files: Uint8Array[] = [runToColumns(begun, { contentHash: 's' })];
  let stored: StoredRun = { columns: opened(files[0]!), checkpoint: checkpointOf(begun) };
  let result = keptResult(begun);
  let to = rows;
  for (const step of steps) {
    if (to + step > market.dates.length) return;
    to += step;
    const grown = cut(market, to);
    const whole = outcomeOf(() => runOn(calendars, grown, document, request));
    const terms = { calendars, createDecider: indexDecider, onWhole: () => void tally.wholes++, datesMax };
    const kept = structuredClone(stored.checkpoint);
    if (typeof whole === 'string') {
      expect(() => extend(begun.plan, grown, stored, terms)).toThrow(Refusal);
      return;
    }
    const gone = extend(whole.plan, grown, stored, terms);
    expect(stored.checkpoint).toEqual(kept); // What is stored is read, and may be read again.
    if (typeof gone === 'string') {
      tally.reasons[gone] = (tally.reasons[gone] ?? 0) + 1;
      return;
    }
    tally.extended++;
    if (gone.rebalances.length > 0) tally.rebalanced++;
    files = filesAfter(files, gone);
    const columns = opened(gone.columns, files);
    const wholeColumns = opened(runToColumns(whole, { contentHash: 's' }));
    if (columns.header.names.length > stored.columns.header.names.length) tally.joined++;
    expect(told(columns)).toEqual(told(wholeColumns));
    expectSameReads(columns, wholeColumns);
    expect(gone.checkpoint).toEqual(checkpointOf(whole));
    result = resultAfter(result, gone);
    expect(resultText(result)).toBe(Buffer.from(runResultJson(whole, STAMP)).toString());
    stored = { columns, checkpoint: gone.checkpoint };
  }
}

const randomSteps = fc.array(fc.constantFrom(1, 1, 1, 2, 5), { minLength: 3, maxLength: 5 });

test('an extended run day by day across its rebalances decides what the whole run decides, on no more of the market than its rules look back to', () => {
  const tally = newTally();
  fc.assert(
    fc.property(
      randomMarket,
      randomDefinition,
      randomSteps,
      fc.constantFrom(0, 3, 1000),
      ({ market: priced }, { document, parent, adjusted, isMeasured }, steps, datesMax) => {
        const market: MarketData = { ...withVolume(priced), adjustment: adjusted as MarketData['adjustment'] };
        const benchmark = isMeasured ? ({ id: 'P', kind: 'index', price_column: 'CLOSE' } as const) : null;
        const request: RunRequest = {
          transaction_cost_bps: 10,
          benchmark,
          documents: { P: parent },
          createDecider: indexDecider,
        };
        expectGoesOn({ market, document, request, steps, tally, datesMax, rows: market.dates.length - DAYS_ADDED });
      },
    ),
    { numRuns: RUNS },
  );
  expect(tally.extended).toBeGreaterThan(RUNS / 2);
  expect(tally.rebalanced).toBeGreaterThan(RUNS / 4);
  expect(Object.keys(tally.reasons)).not.toContain('rebalance');
  expect(Object.keys(tally.reasons)).not.toContain('new_name');
  expect(tally.wholes).toBe(0);
});

/** An index of a few names of which others are the largest every day, and who follows it on which terms. */
const randomNewcomers = fc.record({
  count: fc.integer({ min: 1, max: 4 }),
  isCapped: fc.boolean(),
  variant: fc.constantFrom('price', 'total', 'net'),
  currency: fc.constantFrom('USD', 'EUR'),
  benchmark: fc.constantFrom(null, 'P'),
  strategy: fc.constantFrom(
    undefined,
    { rebalance: null, drift_tolerance: null, exposure: 0.8 },
    { rebalance: RebalanceSpec.parse({ frequency: 'weekly' }), drift_tolerance: 0.01, exposure: 1 },
  ),
  datesMax: fc.constantFrom(0, 2, 1000),
});

test('a run goes on when names are held that never were, whatever happened to them before', () => {
  const tally = newTally();
  fc.assert(
    fc.property(
      randomMarket,
      randomNewcomers,
      randomSteps,
      ({ market: priced }, { count, isCapped, variant, currency, benchmark, strategy, datesMax }, steps) => {
        const market = withVolume(priced);
        const rows = market.dates.length - DAYS_ADDED;
        const definition = (id: string, size: number) =>
          IndexDocument.parse({
            id,
            name: id,
            calendar: 'MAIN',
            currency,
            base_date: formatDay(market.dates[rows - 6]!),
            rebalance: { frequency: 'daily' },
            pipeline: {
              treatment: { dividends: variant, withholding_tax: variant === 'net' ? 0.2 : 0 },
              selection: [{ id: 's', type: 'TopN', params: { field: 'VALUE_TRADED', count: size } }],
              weighting: { type: isCapped ? 'MarketCapWeight' : 'EqualWeight', cap: isCapped ? 0.7 : null },
            },
          });
        const reference =
          benchmark === null ? null : ({ id: benchmark, kind: 'index', price_column: 'CLOSE' } as const);
        const request: RunRequest = {
          transaction_cost_bps: 10,
          benchmark: reference,
          documents: { P: definition('P', 2) },
          createDecider: indexDecider,
          ...(strategy ? { strategy } : {}),
        };
        expectGoesOn({ market, document: definition('X', count), request, steps, tally, rows, datesMax });
      },
    ),
    { numRuns: RUNS },
  );
  expect(tally.joined).toBeGreaterThan(RUNS / 4);
  expect(Object.keys(tally.reasons)).not.toContain('new_name');
});

/** An index optimised towards another, with rows that look back or remember. */
const randomDerivation = fc
  .record({
    frequency: fc.constantFrom('weekly', 'daily'),
    lag: fc.constantFrom(0, 0, 2),
    parentFrequency: fc.constantFrom('weekly', 'monthly', 'none'),
    weighting: fc.constantFrom(
      { type: 'EqualWeight' },
      { type: 'MarketCapWeight', cap: 0.3 },
      { type: 'InverseVolatilityWeight', params: { window: 18, minimum_observations: 4 } },
    ),
    constraints: fc.subarray([
      { id: 'pos', type: 'PositionBounds', params: { lower: 0.02, upper: 0.3 } },
      { id: 'turn', type: 'Turnover', params: { limit: 0.1, reference: 'previous', soft: 1 } },
      { id: 'liquid', type: 'Liquidity', params: { notional: 1e5, days: 5, window: 8, soft: 1 } },
      { id: 'risen', type: 'WeightedAverage', params: { field: 'RETURN', lower: -0.2, soft: 1 } },
      { id: 'calm', type: 'Turnover', params: { limit: 0.01, reference: 'previous', priority: 2 } },
      { id: 'even', type: 'ActiveShare', params: { limit: 0.02, priority: 1 } },
    ]),
  })
  .map(({ frequency, lag, parentFrequency, weighting, constraints }) => ({
    parent: IndexDocument.parse({
      id: 'P',
      name: 'P',
      calendar: 'MAIN',
      base_date: '2024-02-08',
      universe: { kind: 'list', identifiers: ['AA', 'BB', 'CC', 'DD', 'EE', 'HH'] },
      rebalance: { frequency: parentFrequency },
      pipeline: { treatment: { dividends: 'total' }, weighting },
    }),
    document: IndexDocument.parse({
      id: 'X',
      name: 'X',
      calendar: 'MAIN',
      base_date: '2024-02-08',
      rebalance: { frequency, effective_lag: lag },
      derivation: { source_index_id: 'P', objective: 'min_tracking_error', constraints },
    }),
  }));

test('an optimised index resumes with what its solves left', () => {
  const tally = newTally();
  fc.assert(
    fc.property(randomMarket, randomDerivation, randomSteps, ({ market: priced }, { document, parent }, steps) => {
      const market = withVolume(priced);
      expectGoesOn({
        market,
        document,
        request: { documents: { P: parent }, createDecider: indexDecider },
        steps,
        tally,
        rows: market.dates.length - DAYS_ADDED,
      });
    }),
    { numRuns: RUNS },
  );
  expect(tally.extended).toBeGreaterThan(RUNS / 4);
  expect(tally.rebalanced).toBeGreaterThan(RUNS / 8);
  expect(Object.keys(tally.reasons)).not.toContain('rebalance');
});

/** How a strategy follows its index under constraints: at the rebalances of the index or at its own. */
const randomConstraints = fc.record({
  cadence: fc.constantFrom(null, 'weekly', 'daily'),
  tolerance: fc.constantFrom(null, 0.01),
  indexFrequency: fc.constantFrom('daily', 'weekly'),
  lag: fc.constantFrom(0, 2),
  constraints: fc
    .subarray(
      [
        { id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.3 } },
        { id: 'turn', type: 'Turnover', params: { limit: 0.1, reference: 'previous', soft: 1 } },
        { id: 'liquid', type: 'Liquidity', params: { notional: 1e5, days: 5, window: 8, soft: 1 } },
        { id: 'risen', type: 'WeightedAverage', params: { field: 'RETURN', lower: -0.2, soft: 1 } },
        { id: 'few', type: 'Cardinality', params: { maximum: 4 } },
        { id: 'calm', type: 'Turnover', params: { limit: 0.01, reference: 'previous', priority: 1 } },
      ],
      { minLength: 1 },
    )
    .filter((rows) => !['few', 'calm'].every((id) => rows.some((row) => row.id === id))), // Together they are searched for long.
});

test('a strategy under a constraint set resumes with what its solves left', () => {
  const tally = newTally();
  fc.assert(
    fc.property(
      randomMarket,
      randomConstraints,
      randomSteps,
      ({ market: priced }, { cadence, tolerance, indexFrequency, lag, constraints }, steps) => {
        const market = withVolume(priced);
        const document = IndexDocument.parse({
          id: 'X',
          name: 'X',
          calendar: 'MAIN',
          base_date: '2024-02-08',
          rebalance: { frequency: indexFrequency, effective_lag: lag },
          pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.4 } },
        });
        const strategy = {
          rebalance: cadence === null ? null : RebalanceSpec.parse({ frequency: cadence }),
          drift_tolerance: tolerance,
          exposure: 0.9,
          constraints,
        };
        expectGoesOn({
          market,
          document,
          request: { strategy, createDecider: indexDecider },
          steps,
          tally,
          rows: market.dates.length - DAYS_ADDED,
        });
      },
    ),
    { numRuns: RUNS },
  );
  expect(tally.extended).toBeGreaterThan(RUNS / 4);
  expect(tally.rebalanced).toBeGreaterThan(RUNS / 8);
  expect(Object.keys(tally.reasons)).not.toContain('rebalance');
});

test('an optimised index, or a strategy under constraints, looks back no further than the windows of its risk model, however long the market', () => {
  const calendars = openCalendars();
  const sessions = calendars
    .get('XNYS')!
    .sessions.filter((day) => day > 15_000)
    .slice(0, 1300);
  const market: MarketData = {
    storeId: 'test',
    contentHash: 'long',
    adjustment: 'none',
    ...generateMarket(
      {
        seed: 5,
        assets: 16,
        sessions,
        exchange: 'XNYS',
        currency: 'USD',
        sectors: 4,
        market_return: 0.07,
        market_volatility: 0.16,
        specific_volatility: 0.25,
        dividend_yield: 0.03,
        splits_per_year: 0.2,
        delistings_per_year: 0,
        listings_per_year: 0,
        missing_rate: 0.002,
      },
      () => {},
    ),
  };
  const begin = { calendar: 'XNYS', base_date: formatDay(sessions[3]!), rebalance: { frequency: 'monthly' } };
  const parent = IndexDocument.parse({
    ...begin,
    id: 'P',
    name: 'P',
    pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.2 } },
  });
  const constraints = [
    { id: 'pos', type: 'PositionBounds', params: { lower: 0.01, upper: 0.12 } },
    { id: 'turn', type: 'Turnover', params: { limit: 0.05, reference: 'previous', soft: 1 } },
    { id: 'calm', type: 'WeightedAverage', params: { field: 'VOLATILITY', upper: 0.29, soft: 1 } },
  ];
  const document = IndexDocument.parse({
    ...begin,
    id: 'X',
    name: 'X',
    derivation: { source_index_id: 'P', objective: 'min_tracking_error', constraints },
  });
  const strategy = {
    rebalance: RebalanceSpec.parse({ frequency: 'weekly' }),
    drift_tolerance: null,
    exposure: 1,
    constraints,
  };
  for (const followed of [
    { document, request: { documents: { P: parent } } },
    { document: parent, request: { strategy } },
  ]) {
    const tally = newTally();
    expectGoesOn({
      market,
      document: followed.document,
      request: { ...followed.request, createDecider: indexDecider },
      rows: 1190,
      steps: [1, 20, 1, 1, 19, 22, 1, 1, 2, 30],
      tally,
      calendars,
    });
    expect(tally).toEqual({
      extended: 10,
      joined: 0,
      rebalanced: expect.any(Number) as number,
      wholes: 0,
      reasons: {},
    });
    expect(tally.rebalanced).toBeGreaterThanOrEqual(4);
  }
});
