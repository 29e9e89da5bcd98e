import { expect, test } from 'vitest';
import { createCheckpoint } from '#domain/backtest/checkpoint.js';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import type { DeciderFactory } from '#domain/books/compositions.js';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { listRebalances } from '#views/rebalances.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { fc } from '../../fast-check.js';
import { cut, extend, openExtended } from './extend/extended.js';
import { buildMarket } from './market-builder.js';
import { FIRST_DAY, HOLIDAYS, randomMarket } from './random-market.js';
import { randomDocument, run, tryRun } from './random-run.js';
import { createPlainDecider } from './test-deciders.js';
import { createDocument } from '../index-document.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 12);
const NAMES = ['A', 'B', 'C', 'D', 'E', 'F'];
/** Issuer of each security: A and B share one issuer. */
const ISSUERS = [0, 0, 1, 2, 3, 4];

/** Prices of six securities, [sessions][securities]. */
const randomPrices = fc
  .array(fc.array(fc.integer({ min: -80, max: 80 }), { minLength: 6, maxLength: 6 }), { minLength: 30, maxLength: 60 })
  .map((steps) => {
    const prices: number[][] = [[60, 80, 100, 120, 140, 160]];
    for (const row of steps) prices.push(row.map((step, i) => prices.at(-1)![i]! * (1 + step / 1000)));
    return prices;
  });

function createMarket(prices: readonly (readonly number[])[]): MarketData {
  const dates: string[] = [];
  for (let day = parseValidDay(FIRST_DAY); dates.length < prices.length; day++) {
    if (toWeekday(day) < 5 && !HOLIDAYS.includes(formatDay(day))) dates.push(formatDay(day));
  }
  return buildMarket({
    dates,
    close: Object.fromEntries(NAMES.map((name, i) => [name, prices.map((row) => row[i]!)])),
    reference: Object.fromEntries(NAMES.map((name, i) => [name, { ISSUER: `issuer ${ISSUERS[i]}` }])),
  });
}

const createIndexOn = (lag: number, frequency: string, treatment: object): IndexDocument =>
  createDocument({
    base_date: FIRST_DAY,
    rebalance: { frequency, effective_lag: lag },
    pipeline: { treatment, weighting: { type: 'EqualWeight' } },
  });

/** Computes weights from the closes of the decision. They are nearly equal and depend slightly on the price. */
const computeTiltWeights = (prices: readonly number[]): number[] => {
  const raw = prices.map((price) => 10 + price / 100);
  const sum = raw.reduce((total, value) => total + value, 0);
  return raw.map((value) => value / sum);
};

const createTiltedDecider: DeciderFactory = (document, composer) => ({
  decide(session) {
    const sm = composer.market(document.id);
    const columns = composer.universe(document.id, session);
    const weights = Float64Array.from(
      computeTiltWeights(Array.from(columns, (column) => sm.carriedClose(session, column))),
    );
    return {
      kind: 'decided',
      columns,
      weights,
      uncapped: weights,
      cap: null,
      capped: new Int32Array(0),
      redistributed: 0,
      findings: [],
    };
  },
});

/** Returns for each limit of a rule whether the holdings breach it. */
type BrokenRules = (weights: readonly number[]) => boolean[];

/** Limits of an index itself: each security at most 20 %, and those above 17 % together at most 36 %. */
const OWN_LIMITS = { single: { above: 0.2 }, group: { each_above: 0.17, together_above: 0.36 } };
const listBrokenLimits: BrokenRules = (weights) => {
  const large = weights.filter((weight) => weight > 0.17).reduce((sum, weight) => sum + weight, 0);
  return [Math.max(...weights) > 0.2 + 1e-12, large > 0.36 + 1e-12];
};

/** Returns for each of the two limits of UCITS 20/35 whether the holdings breach it. */
function listBrokenRules(weights: readonly number[]): boolean[] {
  const sums = [0, 0, 0, 0, 0];
  weights.forEach((weight, i) => (sums[ISSUERS[i]!]! += weight));
  sums.sort((a, b) => b - a);
  return [sums[0]! > 0.35 + 1e-12, sums[1]! > 0.2 + 1e-12];
}

interface BruteForceRun {
  readonly levels: number[];
  readonly called: number[];
}

/** Applies the definition of the rule directly. It computes in shares, one close at a time. */
function applyBruteForce(
  prices: readonly (readonly number[])[],
  lag: number,
  scheduledRows: ReadonlySet<number>,
  listBroken: BrokenRules = listBrokenRules,
): BruteForceRun {
  const levels = [100];
  const calledSessions: number[] = [];
  let shares = computeTiltWeights(prices[0]!).map((weight, i) => (100 * weight) / prices[0]![i]!);
  let before = listBroken(computeTiltWeights(prices[0]!));
  let nextRebalance = { at: 0, decided: 0 };
  for (let t = 1; t < prices.length; t++) {
    const values = shares.map((shareCount, i) => shareCount * prices[t]![i]!);
    const value = values.reduce((sum, one) => sum + one, 0);
    levels.push(value);
    let now = listBroken(values.map((one) => one / value));
    const begins = now.some((is, i) => is && !before[i]);
    let decisionSession = scheduledRows.has(t)
      ? Math.max(0, t - lag)
      : nextRebalance.at === t
        ? nextRebalance.decided
        : null;
    if (begins && decisionSession === null && t > nextRebalance.at) {
      nextRebalance = { at: t + lag, decided: t };
      if (!scheduledRows.has(t + lag) && t + lag < prices.length) calledSessions.push(t + lag);
      if (lag === 0) decisionSession = t;
    }
    if (decisionSession !== null) {
      const pendingWeights = computeTiltWeights(prices[decisionSession]!).map(
        (weight, i) => weight / prices[decisionSession]![i]!,
      );
      const worth = pendingWeights.map((shareCount, i) => shareCount * prices[t]![i]!);
      const sum = worth.reduce((total, one) => total + one, 0);
      shares = pendingWeights.map((shareCount) => (shareCount * value) / sum);
      now = listBroken(worth.map((one) => one / sum));
    }
    before = now;
  }
  return { levels, called: calledSessions };
}

test('a breach is answered by a rebalance decided on its close, as on holdings counted share by share', () => {
  let count = 0;
  fc.assert(
    fc.property(
      randomPrices,
      fc.constantFrom(0, 1, 3),
      fc.constantFrom('none', 'weekly', 'monthly'),
      fc.boolean(),
      (prices, lag, frequency, hasOwnLimits) => {
        const market = createMarket(prices);
        const treatment = {
          on_breach: 'rebalance',
          ...(hasOwnLimits ? { breach_limits: OWN_LIMITS } : { breach_rule: 'UCITS_20_35' }),
        };
        const runOf = (terms: object) =>
          run(market, createIndexOn(lag, frequency, terms), { createDecider: createTiltedDecider });
        const plainRun = runOf({});
        const scheduledRows = new Set(plainRun.rebalances.map(({ session }) => session - plainRun.index.book.from));
        const watchedRun = runOf(treatment);
        const { book } = watchedRun.index;
        const { levels, called } = applyBruteForce(
          prices,
          lag,
          scheduledRows,
          hasOwnLimits ? listBrokenLimits : listBrokenRules,
        );
        levels.forEach((level, t) => expect(Math.abs(book.value[t]! / level - 1)).toBeLessThan(1e-12));
        const rows = listRebalances(openExtended(createRunColumns(watchedRun, { contentHash: 's' }))).rebalances;
        const formatDate = (t: number) => formatDay(watchedRun.days[t]!);
        expect(rows.filter(({ cause }) => cause === 'breach').map(({ date }) => date)).toEqual(called.map(formatDate));
        expect(rows.length).toBe(scheduledRows.size + called.length);
        count += called.length;
      },
    ),
    { numRuns: RUNS },
  );
  expect(count).toBeGreaterThan(RUNS);
});

/** Random definitions on at most six securities. Their weights breach the rule at times. */
const watchedDocument = randomDocument.map((document) =>
  IndexDocument.parse({
    ...document,
    universe: { kind: 'list', identifiers: ['AA', 'BB', 'CC', 'DD', 'EE', 'FF'] },
    pipeline: {
      ...document.pipeline,
      treatment: { ...document.pipeline!.treatment, on_breach: 'rebalance', breach_rule: 'UCITS_20_35' },
      weighting: { type: 'EqualWeight' },
    },
  }),
);

/** Creates deciders that record the session of each decision, in the order of the decisions. */
const recordDecisions = (sessions: number[]): DeciderFactory => {
  return (document, composer) => {
    const decider = createPlainDecider(document, composer);
    return {
      decide(session, incumbents) {
        sessions.push(session);
        return decider.decide(session, incumbents);
      },
    };
  };
};

test('decisions are made in the order of their sessions, a breach between decision and effect of a review included', () => {
  let countBetween = 0;
  fc.assert(
    fc.property(randomPrices, fc.constantFrom(2, 3), (prices, lag) => {
      const sessions: number[] = [];
      const document = createIndexOn(lag, 'weekly', { on_breach: 'rebalance', breach_rule: 'UCITS_20_35' });
      const result = run(createMarket(prices), document, { createDecider: recordDecisions(sessions) });
      expect(sessions).toEqual(sessions.toSorted((a, b) => a - b));
      const { list } = result.index.compositions;
      countBetween += list.filter(
        ({ cause, decision }) =>
          cause === 'breach' &&
          list.some((other) => other.cause === undefined && other.decision < decision && decision < other.session),
      ).length;
    }),
    { numRuns: RUNS },
  );
  expect(countBetween).toBeGreaterThan(0);
});

/** Includes weights by risk, because their decider keeps measurements between decisions. */
test('later data change no rebalance, also with weights by risk', () => {
  let calledCount = 0;
  fc.assert(
    fc.property(randomPrices, fc.integer({ min: 36, max: 44 }), (prices, rows) => {
      const market = createMarket(prices);
      const document = IndexDocument.parse({
        ...createIndexOn(2, 'weekly', { on_breach: 'rebalance', breach_rule: 'UCITS_20_35' }),
        base_date: '2024-01-31',
        pipeline: {
          treatment: { on_breach: 'rebalance', breach_rule: 'UCITS_20_35' },
          weighting: { type: 'EqualRiskWeight', params: { window: 20 } },
        },
      });
      const runOf = (changedMarket: MarketData) => tryRun(changedMarket, document, { createDecider: indexDecider });
      const [wholeRun, shortRun] = [runOf(market), runOf(cut(market, rows))];
      if (wholeRun === undefined || shortRun === undefined) return;
      const { book } = shortRun.index;
      expect(listCompositions(shortRun, book.from + book.length - 1)).toEqual(
        listCompositions(wholeRun, book.from + book.length - 1),
      );
      expect([...book.value]).toEqual([...wholeRun.index.book.value.subarray(0, book.length)]);
      calledCount += shortRun.index.compositions.list.filter(({ cause }) => cause === 'breach').length;
    }),
    { numRuns: RUNS },
  );
  expect(calledCount).toBeGreaterThan(0);
});

const listCompositions = (found: Run, until: number) =>
  found.index.compositions.list
    .filter(({ session }) => session <= until)
    .map(({ session, decision, cause, columns, weights }) => [session, decision, cause, [...columns], [...weights]]);

test('later data change no rebalance caused by a breach, and no bit of a level', () => {
  let calledCount = 0;
  fc.assert(
    fc.property(randomMarket, watchedDocument, fc.integer({ min: 14, max: 22 }), ({ market }, document, rows) => {
      const [wholeRun, shortRun] = [tryRun(market, document), tryRun(cut(market, rows), document)];
      if (wholeRun === undefined || shortRun === undefined) return;
      const { book } = shortRun.index;
      const to = book.from + book.length - 1;
      expect(listCompositions(shortRun, to)).toEqual(listCompositions(wholeRun, to));
      expect([...book.value]).toEqual([...wholeRun.index.book.value.subarray(0, book.length)]);
      calledCount += shortRun.index.compositions.list.filter(({ cause }) => cause === 'breach').length;
    }),
    { numRuns: RUNS },
  );
  expect(calledCount).toBeGreaterThan(0);
});

test('an extended run equals the whole run bit for bit, or states that a breach requires the whole', () => {
  const outcomes = { extended: 0, breach: 0 };
  fc.assert(
    fc.property(randomMarket, watchedDocument, fc.integer({ min: 14, max: 22 }), ({ market }, document, rows) => {
      const first = tryRun(cut(market, rows), document);
      if (first === undefined) return;
      let bytes = createRunColumns(first, { contentHash: 's' });
      let checkpoint = createCheckpoint(first);
      for (let to = rows + 1; to <= Math.min(rows + 5, market.dates.length); to++) {
        const wholeRun = tryRun(cut(market, to), document);
        if (wholeRun === undefined) return;
        const before = bytes;
        const extendedRun = extend(wholeRun.plan, cut(market, to), { columns: openExtended(before), checkpoint });
        bytes = createRunColumns(wholeRun, { contentHash: 's' });
        checkpoint = createCheckpoint(wholeRun);
        if (typeof extendedRun === 'string') {
          if (extendedRun === 'breach') outcomes.breach++;
          continue;
        }
        outcomes.extended++;
        expect(extendedRun.checkpoint).toEqual(checkpoint);
        expect([...openExtended(extendedRun.columns, [before]).f64('level')]).toEqual([...wholeRun.level]);
      }
    }),
    { numRuns: RUNS },
  );
  expect(outcomes.extended).toBeGreaterThan(RUNS);
  expect(outcomes.breach).toBeGreaterThan(0);
});

test('the methodology states which limits are watched and when a rebalance takes effect', () => {
  const methodologyText = createMethodology(createIndexOn(2, 'monthly', { on_breach: 'rebalance' })).join(' ');
  expect(methodologyText).toContain('UCITS 5/10/40 is checked at every close');
  expect(createMethodology(createIndexOn(2, 'monthly', { on_breach: 'none' })).join(' ')).not.toContain('watched');
});

test('a breach of own limits starts the named review, which caps the current constituents again', () => {
  // A and B are selected by SIZE on the base date. Later C is larger, but the review of weights keeps A and B.
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'];
  const market = buildMarket({
    dates,
    close: { A: [100, 100, 160, 160, 320], B: [100, 100, 100, 100, 100], C: [100, 100, 100, 100, 100] },
    fields: { SIZE: { A: [3, 3, 3, 3, 3], B: [2, 2, 2, 2, 2], C: [1, 9, 9, 9, 9] } },
  });
  const capping = { type: 'FieldWeight', params: { field: 'CLOSE' }, ladder_caps: { single: { above: 0.5, to: 0.5 } } };
  const createDocument = (breach: object) =>
    IndexDocument.parse({
      ...createIndexOn(0, 'none', {}),
      base_date: dates[0],
      reviews: [{ id: 'capping', schedule: { frequency: 'annual' }, scope: 'weights', weighting: capping }],
      pipeline: {
        treatment: { on_breach: 'rebalance', breach_limits: { single: { above: 0.6 } }, ...breach },
        selection: [{ id: 'top', type: 'TopN', params: { count: 2, field: 'SIZE' } }],
        weighting: { type: 'EqualWeight' },
      },
    });
  const listWeights = (breach: object) => {
    const { book } = run(market, createDocument(breach), { createDecider: indexDecider }).index;
    const names = Array.from(book.columns, (column) => book.sm.identifiers[column]!);
    return dates.map((_, t) =>
      Object.fromEntries(
        names.flatMap((name, k) => {
          const weight = book.weights[t * names.length + k]!;
          return weight === 0 ? [] : [[name, Math.round(weight * 1e9) / 1e9]];
        }),
      ),
    );
  };
  // 160 / 260 = 61.5 % exceeds 60 %: A and B get 50 % each. From 50 %, A doubles to 2/3, and is capped again.
  const half = { A: 0.5, B: 0.5 };
  expect(listWeights({ breach_review: 'capping' })).toEqual([half, half, half, half, half]);
  // Without the named review, the index selects again: C replaces B on the session of the breach.
  expect(listWeights({}).slice(2, 4)).toEqual([
    { A: 0.5, C: 0.5 },
    { A: 0.5, C: 0.5 },
  ]);
  const text = createMethodology(createDocument({ breach_review: 'capping' })).join(' ');
  expect(text).toContain('a limit of the index is checked at every close. No weight is above 60%.');
  expect(text).toContain('the review capping decides at that close');
});
