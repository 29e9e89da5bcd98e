import { fc } from '../../../fast-check.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { RebalanceSpec } from '#domain/definition/schedule.js';
import type { MarketData } from '#domain/market/market-data.js';
import { randomDates, randomReviews } from '../random-reviews.js';
import { createRandomMarketOver } from '../random-market.js';
import { createDocument } from '../../index-document.js';

/** Random markets that are long enough for a covariance of 21 returns before every appended day. */
export const randomMarket = createRandomMarketOver(fc.integer({ min: 60, max: 80 }));

/**
 * Returns a market with volumes and a universe. Each security belongs to the universe until its membership or its
 * volume ends.
 */
export function addVolume(market: MarketData): MarketData {
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
      'PRICE_RETURN',
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

export const createTree = (text: string) => parseExpression(text).tree;

/** Expressions over returns, windows, dividends, previous holdings and another index. */
const randomExpression = fc
  .constantFrom(
    'zscore(VALUE_TRADED) + 2 * is_constituent()',
    'mean(CLOSE * VOLUME, window=8, lag=1) * (1 + member_of("P"))',
    'std(PRICE_RETURN(lag=2), window=12) - slope(log(CLOSE), window=9)',
    'percentile(MOMENTUM(window=10, lag=3), by=SECTOR, over="universe") + weight_in("P")',
    'if(DIVIDEND_YIELD > 0, rank(years_of_growth(DIVIDEND)), BETA(window=9))',
    'coalesce(last(VALUE_TRADED, lag=4) / median(VALUE_TRADED, window=6), rank(CLOSE))',
  )
  .map(createTree);

const randomRule = fc.oneof(
  randomExpression.map((field) => ({ type: 'TopN', params: { field, count: 5 } })),
  fc.boolean().map((isIn) => ({ type: 'MembershipFilter', params: { index_id: 'P', in: isIn } })),
  fc.constant({
    type: 'RangeFilter',
    params: { field: createTree('RETURN'), minimum: 0.03 },
    fallback: [{ when_fewer_than: 4, params: { field: createTree('mean(RETURN, window=6)'), minimum: -0.05 } }],
  }),
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
  { type: 'MaximumDiversificationWeight', params: { window: 22 } },
  { type: 'FieldWeight', params: { field: 'VALUE_TRADED' }, cap: 0.5 },
  { type: 'FieldWeight', params: { field: createTree('0.1 + weight_in("P") + is_constituent()') } },
  { type: 'GroupWeight', params: { field: 'SECTOR', between: 'equal', within: 'market_cap' } },
  { type: 'HierarchicalRiskParityWeight', params: { window: 22, linkage: 'average' } },
  { type: 'MarketCapWeight', cap: createTree('0.2 + weight_in("P") + 0.1 * is_constituent()'), cap_by: 'SECTOR' },
  {
    type: 'FieldWeight',
    params: { field: 'VALUE_TRADED' },
    ladder_caps: { single: { above: 0.5, to: 0.4 }, group: { each_above: 0.35, together_above: 0.7, to: 0.65 } },
  },
  { type: 'EqualWeight', phase_in: { field: createTree('mean(CLOSE, window=5) + weight_in("P")'), steps: 3 } },
);

/** A second index on the market with another calendar and schedule. The first index may use it as its universe. */
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

export const randomDefinition = fc
  .record({
    frequency: fc.constantFrom('daily', 'weekly', 'monthly'),
    lag: fc.constantFrom(0, 0, 2),
    dates: fc.oneof(fc.constant({}), fc.record(randomDates)),
    reviews: randomReviews,
    stale: fc.constantFrom(0, 1, 5),
    adjusted: fc.constantFrom('none', 'splits', 'total'),
    universe: fc.constantFrom(
      { kind: 'all' },
      { kind: 'named', id: 'U' },
      { kind: 'index', id: 'P' },
      { kind: 'list', identifiers: ['AA', 'BB', 'CC', 'EE', 'HH', 'NEW'] },
      {
        kind: 'difference',
        of: [
          {
            kind: 'union',
            of: [
              { kind: 'index', id: 'P' },
              { kind: 'named', id: 'U' },
            ],
          },
          { kind: 'list', identifiers: ['BB', 'EE'] },
        ],
      },
    ),
    rules: fc.array(randomRule, { maxLength: 2 }),
    weighting: randomWeighting,
    parent: randomParent,
    isMeasured: fc.boolean(),
  })
  .map(({ frequency, lag, dates, reviews, stale, universe, rules, weighting, ...rest }) => ({
    ...rest,
    document: createDocument({
      base_date: '2024-02-08',
      universe,
      rebalance: { frequency, effective_lag: lag, ...dates },
      ...(reviews === undefined ? {} : { reviews }),
      pipeline: {
        treatment: { dividends: 'total', max_stale_sessions: stale },
        selection: rules.map((rule, i) => ({ id: `r${i}`, ...rule })),
        weighting,
      },
    }),
  }));

/** An index of the few largest securities, which change daily. A strategy follows it with random terms. */
export const randomNewcomers = fc.record({
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

/** An index that is optimised towards another index. Its constraints read earlier returns or holdings. */
export const randomDerivation = fc
  .record({
    frequency: fc.constantFrom('weekly', 'daily'),
    lag: fc.constantFrom(0, 0, 2),
    parentFrequency: fc.constantFrom('weekly', 'monthly', 'none'),
    candidates: fc.constantFrom('parent', 'universe'),
    risk: fc.constantFrom(null, null, { target: 'scaled_identity', half_life: 12, sessions: 25 }),
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
      { id: 'drifted', type: 'Turnover', params: { limit: 0.1, reference: 'held', soft: 1 } },
      { id: 'even', type: 'ActiveShare', params: { limit: 0.02, priority: 1 } },
      {
        id: 'path',
        type: 'WeightedAverage',
        params: {
          field: createTree('mean(CLOSE, window=3)'),
          upper: { base: '2024-02-20', yearly: -0.6 },
          priority: 3,
        },
      },
    ]),
  })
  .map(({ frequency, lag, parentFrequency, candidates, risk, weighting, constraints }) => ({
    parent: createDocument({
      id: 'P',
      base_date: '2024-02-08',
      universe: { kind: 'list', identifiers: ['AA', 'BB', 'CC', 'DD', 'EE', 'HH'] },
      rebalance: { frequency: parentFrequency },
      pipeline: {
        // If the candidates come from the universe, the parent must hold only some of its securities.
        selection: candidates === 'parent' ? [] : [{ id: 'dear', type: 'TopN', params: { field: 'CLOSE', count: 3 } }],
        treatment: { dividends: 'total' },
        weighting,
      },
    }),
    document: IndexDocument.parse({
      id: 'X',
      name: 'X',
      calendar: 'MAIN',
      base_date: '2024-02-08',
      rebalance: { frequency, effective_lag: lag },
      derivation: {
        source_index_id: 'P',
        objective: 'min_tracking_error',
        candidates,
        risk_model: risk,
        constraints,
        relax: constraints.flatMap(({ id }) =>
          id === 'pos'
            ? [{ row: 'pos', steps: [0.5, { lower: 0, upper: 1 }] }]
            : id === 'calm'
              ? [{ row: id, steps: [0.05, 0.2] }]
              : [],
        ),
      },
    }),
  }));

/**
 * Terms of a strategy that follows its index under constraints. It rebalances with the index or on its own schedule.
 */
export const randomConstraints = fc.record({
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
        { id: 'drifted', type: 'Turnover', params: { limit: 0.1, reference: 'held', soft: 1 } },
        { id: 'few', type: 'Cardinality', params: { maximum: 4 } },
        { id: 'calm', type: 'Turnover', params: { limit: 0.01, reference: 'previous', priority: 1 } },
      ],
      { minLength: 1 },
    )
    .filter((rows) => !['few', 'calm'].every((id) => rows.some((row) => row.id === id))), // the combined search takes long
});
