import { describe, expect, test } from 'vitest';
import { fc } from '../../fast-check.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { Run } from '#domain/backtest/run.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { buildMarket, type ActionSketch } from '../backtest/market-builder.js';
import { expectResumes, createTally } from '../backtest/extend/growing-run.js';
import { CALENDARS, expectNear, readLevels, runIndexCase, listWeekdays, type IndexCase } from './index-case.js';
import { replay, type ReplayTerms } from './plain-replay.js';

/**
 * Number of random documents. Each document combines reviews, dates, phases, changes between reviews, amendments,
 * withholding tax by country and rounding.
 */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 20);
const SESSIONS = 40;
const DAYS = listWeekdays(SESSIONS);
const NAMES = ['A', 'B', 'C', 'D', 'E', 'F', 'G'];
const COUNTRIES = ['US', 'GB', 'FR'];
const RATES: Readonly<Record<string, number>> = { US: 0.3, GB: 0, FR: 0.15 };
const getCountry = (name: string): string => COUNTRIES[NAMES.indexOf(name) % 3]!;

const randomRule = fc.constantFrom(
  undefined,
  { rule: 'sessions_before', sessions: 2 },
  { rule: 'sessions_before', sessions: 4 },
  { rule: 'weekday_before', weekday: 2, weeks: 1 },
);
const schedule = (frequency: string, weekday: number) =>
  fc.record({
    frequency: fc.constant(frequency),
    weekday: fc.constant(frequency === 'weekly' ? weekday : null),
    effective_lag: fc.constantFrom(0, 0, 2),
    reference: randomRule,
    pricing_date: randomRule,
    phase: fc.constantFrom(undefined, undefined, { sessions: 3 }),
  });

const randomCase = fc.record({
  steps: fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 300, maxLength: 300 }),
  events: fc.array(
    fc.record({
      name: fc.integer({ min: 1, max: 6 }),
      type: fc.constantFrom<ActionSketch['type']>('DIVIDEND', 'DIVIDEND', 'SPECIAL_DIVIDEND', 'SPLIT', 'ACQUISITION'),
      at: fc.integer({ min: 1, max: SESSIONS - 1 }),
      size: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 8 },
  ),
  counts: fc.array(
    fc.record({ name: fc.nat(6), at: fc.integer({ min: 1, max: 39 }), percent: fc.integer({ min: -20, max: 30 }) }),
    {
      maxLength: 8,
    },
  ),
  rebalance: schedule('monthly', 1),
  reviews: fc.record({
    members: fc.option(schedule('weekly', 0), { nil: undefined, freq: 2 }),
    weights: fc.option(schedule('weekly', 2), { nil: undefined, freq: 3 }),
    shares: fc.option(schedule('weekly', 3), { nil: undefined, freq: 2 }),
  }),
  weighting: fc.constantFrom('EqualWeight', 'MarketCapWeight', 'MarketCapWeight'),
  cap: fc.constantFrom(undefined, 0.4),
  threshold: fc.constantFrom(undefined, 0.05),
  replacement: fc.constantFrom('none', 'next_ranked', 'reserve'),
  exits: fc.boolean(),
  amended: fc.constantFrom(undefined, { rebalance: true }, {}),
  decimals: fc.constantFrom(undefined, 2),
  shift: fc.integer({ min: -50, max: 50 }),
  since: fc.integer({ min: 4, max: SESSIONS - 4 }),
});
type RandomCase = typeof randomCase extends fc.Arbitrary<infer T> ? T : never;

/** Returns the market of a random case. The caller can shift the prices and share counts after a session. */
function createMarket({ steps, events, counts, shift }: RandomCase, changedAfter = Infinity) {
  const listPath = (n: number): number[] => {
    let price = 40 + 15 * n;
    return DAYS.map(
      (_, t) => (price *= 1 + (steps[(7 * t + n * 31) % 300]! + (t > changedAfter ? shift * (n % 3) : 0)) / 1000),
    );
  };
  const close: Record<string, (number | null)[]> = Object.fromEntries(NAMES.map((name, n) => [name, listPath(n)]));
  const sortedEvents = events.toSorted((a, b) => a.at - b.at);
  const ownSketches = sortedEvents.filter(
    (one, i) =>
      one.at <= changedAfter &&
      !sortedEvents
        .slice(0, i)
        .some(({ name, at, type }) => name === one.name && (at === one.at || type === 'ACQUISITION')),
  );
  const actions = ownSketches.map(({ name, type, at, size }): ActionSketch => {
    const value = type === 'SPLIT' ? [0.5, 2, 3][size % 3]! : type === 'ACQUISITION' ? 10 * size : 0.4 * size;
    return { name: NAMES[name]!, type, value, ex: DAYS[at]! };
  });
  for (const { name, type, ex } of actions)
    if (type === 'ACQUISITION') close[name] = close[name]!.map((price, t) => (t > DAYS.indexOf(ex) ? null : price));
  const computeSplitFactor = (name: string, t: number): number =>
    actions.reduce(
      (f, one) => (one.name === name && one.type === 'SPLIT' && one.ex <= DAYS[t]! ? f * one.value : f),
      1,
    ) *
    counts.reduce((f, one) => (NAMES[one.name] === name && one.at <= t ? f * (1 + one.percent / 100) : f), 1) *
    (t > changedAfter ? 1.5 : 1);
  const shares = NAMES.map(
    (name, n) => [name, DAYS.map((_, t) => (100 + 10 * n) * computeSplitFactor(name, t))] as const,
  );
  return {
    close,
    actions,
    fields: { SHARES_OUTSTANDING: Object.fromEntries(shares) },
    reference: Object.fromEntries(NAMES.map((name) => [name, { CURRENCY: 'USD', COUNTRY: getCountry(name) }])),
  };
}

const createTopFilters = (count: number) => [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count } }];

function createCase(drawnCase: RandomCase): Omit<IndexCase, 'close'> {
  const { rebalance, weighting, cap, threshold, replacement, exits, amended, decimals, reviews } = drawnCase;
  const { members, weights, shares } = reviews;
  const specs = [
    { id: 'members', scope: 'membership', schedule: members, selection: createTopFilters(3) },
    { id: 'weights', scope: 'weights', schedule: weights },
    { id: 'counts', scope: 'shares', schedule: shares },
  ].filter((one) => one.schedule !== undefined);
  return {
    universe: NAMES,
    selection: createTopFilters(4),
    weighting: { type: weighting, ...(cap === undefined ? {} : { cap }) },
    rebalance,
    ...(specs.length === 0 ? {} : { reviews: specs }),
    treatment: { dividends: 'net', withholding_tax: { field: 'COUNTRY', rates: RATES } },
    events: {
      ...(threshold === undefined ? {} : { share_changes: 'effective', threshold }),
      replacement,
      ...(replacement === 'reserve' ? { reserve: ['G', 'A', 'F', 'B'] } : {}),
      ...(exits ? { fast_exit: { rank: 4, field: 'MARKET_CAP', schedule: { frequency: 'weekly', weekday: 1 } } } : {}),
    },
    document: {
      ...(decimals === undefined ? {} : { base_market_value: 5e6, rounding: { divisor: decimals } }),
      ...(amended === undefined
        ? {}
        : {
            amendments: [
              {
                effective_from: '2024-03-27',
                ...amended,
                changes: {
                  pipeline: { selection: createTopFilters(5) },
                  universe: { kind: 'list', identifiers: NAMES.slice(0, 6) },
                },
              },
            ],
          }),
    },
  };
}

function createTerms({ weighting, threshold, decimals }: RandomCase): ReplayTerms {
  return {
    special: 'adjust',
    rights: 'price_only',
    spinOffs: 'zero_price',
    keepsShares: false,
    withholdingTax: (name) => RATES[getCountry(name)]!,
    ...(decimals === undefined ? {} : { rounded: { decimals, first: 5e4 } }),
    threshold: weighting === 'MarketCapWeight' ? threshold : undefined,
  };
}

/** Returns true if a rebalance may change constituents, and not only their weights. */
const isSelection = ({ cause, reviews = ['rebalance'] }: Run['rebalances'][number]): boolean =>
  cause !== undefined || reviews.includes('rebalance') || reviews.includes('members');

describe('all of it in one document, on random markets', () => {
  test('levels, divisor, dividend points and weights are those of numbers of shares written out', () => {
    const seenCounts = { phases: 0, priced: 0, changes: 0, reviews: 0, amended: 0 };
    fc.assert(
      fc.property(randomCase, (drawnCase) => {
        const run = runIndexCase({ ...createMarket(drawnCase), ...createCase(drawnCase) });
        const expected = replay(run, createTerms(drawnCase));
        const { reinvested, columns, weights, sm, value, divisor } = run.index.book;
        const { price, total, net } = {
          price: readLevels(run, 'price'),
          total: readLevels(run, 'total'),
          net: readLevels(run, 'net'),
        };
        for (const [levels, plainLevels] of [
          [price, expected.price],
          [total, expected.total],
          [net, expected.net],
          [[...value], expected.net],
          [[...divisor], expected.divisor],
        ] as const)
          levels.forEach((level, t) => expectNear(level, plainLevels[t]!, 1e-10));
        for (let t = 1; t < price.length; t++) {
          const { points, netPoints } = reinvested!;
          expectNear(total[t]!, (total[t - 1]! * (price[t]! + points[t]!)) / price[t - 1]!);
          expectNear(net[t]!, (net[t - 1]! * (price[t]! + netPoints[t]!)) / price[t - 1]!);
        }
        expected.weights.forEach((held, t) =>
          columns.forEach((column, slot) =>
            expect(weights[t * columns.length + slot]!).toBeCloseTo(held.get(sm.identifiers[column]!) ?? 0, 10),
          ),
        );
        for (const composition of run.rebalances) {
          if (composition.phase !== undefined) seenCounts.phases++;
          if (composition.pricing !== undefined) seenCounts.priced++;
          if (composition.cause !== undefined) seenCounts.changes++;
          if ((composition.reviews?.length ?? 0) > 1) seenCounts.reviews++;
          if (composition.amendment !== undefined) seenCounts.amended++;
        }
      }),
      { numRuns: RUNS },
    );
    expect(Math.min(...Object.values(seenCounts)), JSON.stringify(seenCounts)).toBeGreaterThan(0);
  });

  test('no data after a session changes constituents and target weights that were decided by then', () => {
    let pendingCount = 0;
    fc.assert(
      fc.property(randomCase, (drawnCase) => {
        const { since } = drawnCase;
        const [shifted, whole] = [since, Infinity].map(
          (changedAfter) =>
            runIndexCase({ ...createMarket(drawnCase, changedAfter), ...createCase(drawnCase) }).rebalances,
        ) as [Run['rebalances'], Run['rebalances']];
        // A review that takes effect after a later selection keeps its constituents, so data after the session may
        // change the review.
        const selectedLater = [...shifted, ...whole].filter((one) => one.decision > since && isSelection(one));
        const end = Math.min(...selectedLater.map(({ session }) => session));
        const listDecisions = (rebalances: Run['rebalances']) =>
          rebalances
            .filter(
              ({ decision, session, targets }) =>
                decision <= since && session < end && (targets !== undefined || session <= since),
            )
            .map((one) => {
              const { columns, weights } = one.targets ?? one;
              return { session: one.session, columns: [...columns], weights: [...weights] };
            });
        const decisions = listDecisions(whole);
        pendingCount += decisions.filter(({ session }) => session > since).length;
        expect(listDecisions(shifted)).toEqual(decisions);
      }),
      { numRuns: RUNS },
    );
    expect(pendingCount).toBeGreaterThan(0);
  });

  test('a review of weights that was decided before a fast exit keeps the security that entered', () => {
    const days = listWeekdays(15);
    // C passes B after session 8, and replaces it on Tuesday, session 11. The weights of session 12 refer to session 8.
    const { rebalances, index } = runIndexCase({
      close: { A: days.map(() => 100), B: days.map(() => 50), C: days.map((_, t) => (t > 8 ? 60 : 40)) },
      fields: { SHARES_OUTSTANDING: Object.fromEntries(['A', 'B', 'C'].map((name) => [name, days.map(() => 1)])) },
      universe: ['A', 'B', 'C'],
      selection: createTopFilters(2),
      weighting: { type: 'EqualWeight' },
      reviews: [
        {
          id: 'weights',
          scope: 'weights',
          schedule: { frequency: 'weekly', weekday: 2, reference: { rule: 'sessions_before', sessions: 4 } },
        },
      ],
      events: { fast_exit: { rank: 2, field: 'MARKET_CAP', schedule: { frequency: 'weekly', weekday: 1 } } },
    });
    const [exit, review] = rebalances.filter(({ session }) => session === 11 || session === 12);
    const listNames = (columns: Int32Array) => [...columns].map((column) => index.book.sm.identifiers[column]);
    expect([exit!.cause, exit!.decision]).toEqual(['fast_exit', 11]);
    expect([review!.reviews, review!.decision]).toEqual([['weights'], 8]);
    expect(listNames(exit!.columns)).toEqual(['A', 'C']);
    expect(listNames(review!.targets!.columns)).toEqual(['A', 'C']);
    expect([...review!.targets!.weights]).toEqual([0.5, 0.5]);
  });

  test('extended runs have the same bits as whole ones', () => {
    const tally = createTally();
    fc.assert(
      fc.property(
        randomCase,
        fc.integer({ min: 8, max: 25 }),
        fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
        (drawnCase, rows, steps) => {
          expectResumes({
            market: buildMarket({ dates: DAYS, ...createMarket(drawnCase) }),
            document: createDocument(drawnCase),
            request: { createDecider: indexDecider },
            rows,
            steps,
            tally,
            calendars: CALENDARS,
          });
        },
      ),
      { numRuns: RUNS },
    );
    expect(tally.rebalanced).toBeGreaterThan(0);
  });
});

function createDocument(drawnCase: RandomCase): IndexDocument {
  const { universe, selection, weighting, treatment, document, ...members } = createCase(drawnCase);
  return IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date: DAYS[0],
    currency: 'USD',
    universe: { kind: 'list', identifiers: universe },
    pipeline: { selection, treatment, weighting },
    ...members,
    ...document,
  });
}
