import { describe, expect, test } from 'vitest';
import { restoreDecided } from '#domain/books/compositions.js';
import { createComposer } from '#domain/books/composer.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { parseValidDay } from '#domain/base/time.js';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { explainConstituent } from '#domain/decide/explanation.js';
import { previewRules } from '#domain/decide/preview.js';
import {
  alignDays,
  CALENDARS,
  createDeciderOf,
  createRuleDocument,
  createGeneratedMarket,
  selectByRule,
  createTableMarket,
  weightBy,
} from './rule-market.js';

const createComposerOn = (market: MarketData, documents: readonly IndexDocument[], until: number) =>
  createComposer({
    market,
    calendars: CALENDARS,
    documents: Object.fromEntries(documents.map((document) => [document.id, document])),
    until,
    createDecider: indexDecider,
  });

const bufferedIndex = createRuleDocument(
  {
    selection: [
      { id: 'liquid', type: 'LiquidityFilter', params: { minimum: 3e7, window: 20, incumbent_minimum: 1e7 } },
      { id: 'size', type: 'BufferedTopN', params: { field: 'SCORE', count: 12, enter_rank: 8, exit_rank: 20 } },
    ],
    weighting: { type: 'MarketCapWeight', cap: 0.15 },
  },
  { id: 'BUFFERED', base_date: '2020-03-02', rebalance: { frequency: 'monthly' } },
);

const waitingIndex: typeof bufferedIndex = {
  ...bufferedIndex,
  id: 'WAITING',
  pipeline: { ...bufferedIndex.pipeline, treatment: { ...bufferedIndex.pipeline.treatment, stale_targets: 'defer' } },
};

describe('a preview of a decision date is the decision of the run', () => {
  const market = createGeneratedMarket({ names: 60, sessions: 320, seed: 9 });
  const last = market.dates.at(-1)!;

  test.each([
    ['with buffers', bufferedIndex],
    ['that waits for bars', waitingIndex],
    [
      'with buffers and a lag',
      { ...bufferedIndex, id: 'LAGGED', rebalance: { ...bufferedIndex.rebalance, effective_lag: 3 } },
    ],
    [
      'that remembers for how many reviews a security has been its constituent',
      createRuleDocument(
        {
          selection: [
            {
              id: 'x',
              type: 'TopN',
              params: {
                field: parseExpression('3 * reviews_since(is_constituent() == 0, 3) - rank(SCORE)').tree,
                count: 10,
              },
            },
          ],
          weighting: {
            type: 'FieldWeight',
            params: { field: parseExpression('1 + coalesce(last_review(is_constituent()), 0)').tree },
          },
        },
        { id: 'RECALLING', base_date: '2020-03-02', rebalance: { frequency: 'monthly', effective_lag: 2 } },
      ),
    ],
    [
      'in the universe of another index',
      createRuleDocument(
        {
          selection: [{ id: 'x', type: 'BufferedTopN', params: { field: 'CLOSE', count: 5 } }],
          weighting: { type: 'PriceWeight' },
        },
        {
          id: 'INNER',
          base_date: '2020-04-01',
          rebalance: { frequency: 'weekly' },
          universe: { kind: 'index', id: 'BUFFERED' },
        },
      ),
    ],
    [
      'of an index whose methodology is amended twice',
      IndexDocument.parse({
        ...bufferedIndex,
        id: 'AMENDED',
        rebalance: { frequency: 'monthly', anchor: 'third_friday', effective_lag: 3 },
        amendments: [
          {
            effective_from: '2020-05-04',
            changes: {
              pipeline: {
                weighting: { type: 'MarketCapWeight', cap: 0.2 },
                treatment: { special_dividends: 'ignore' },
              },
            },
          },
          {
            effective_from: '2020-08-03',
            changes: { rebalance: { frequency: 'weekly', effective_lag: 1 }, events: { acquirer: 'remove' } },
          },
        ],
      }),
    ],
  ])('%s', (_, document) => {
    const documents = [bufferedIndex, document];
    const { list, sm } = createComposerOn(market, documents, last).compositions(document.id);
    expect(list.length).toBeGreaterThan(8);
    for (const composition of list) {
      const { decision, session } = composition;
      const { columns, weights } = restoreDecided(composition);
      if (decision !== session && decision < sm.sessionAt(parseValidDay(document.base_date))) continue;
      const day = sm.sessions[decision]!;
      const { resolved } = previewRules(createComposerOn(market, documents, day), document.id, day);
      if (resolved?.decision.kind !== 'decided') throw new Error('nothing was decided');
      expect(resolved.session).toBe(decision);
      const removedColumns = resolved.decision.columns.filter((column) => !columns.includes(column));
      if (removedColumns.length > 0) continue; // these securities ended between the decision and its effective session
      expect(Array.from(resolved.decision.columns)).toEqual(Array.from(columns));
      expect(Array.from(resolved.decision.weights)).toEqual(Array.from(weights));
    }
  });

  test('the explanation of each security replays to the effective weight, and states the reasons of exclusions', () => {
    const { list, sm } = createComposerOn(market, [bufferedIndex], last).compositions('BUFFERED');
    const composition = list.at(-2)!;
    const asOf = sm.sessions[composition.session]!;
    for (let column = 0; column < sm.securityCount; column++) {
      const explanation = explainConstituent(createComposerOn(market, [bufferedIndex], asOf), 'BUFFERED', {
        column,
        asOf,
      });
      const position = composition.columns.indexOf(column);
      expect(explanation.weight).toBe(position < 0 ? null : composition.weights[position]);
      if (position >= 0) {
        const { cap, floor, scale } = explanation.capping!;
        expect(
          Math.min(cap!, Math.max(floor, scale * (explanation.weighting!.raw / explanation.weighting!.rawTotal))),
        ).toBeCloseTo(explanation.weight!, 13);
        expect(
          explanation.rules.every(({ kept, reason }) => kept && (reason.distance === 0 || reason.distance === null)),
        ).toBe(true);
      } else if (explanation.inUniverse) {
        const { kept, reason } = explanation.rules.at(-1)!;
        expect([kept, explanation.excludedBy !== null]).toEqual([false, true]);
        if (reason.value !== null) expect(reason.distance).toBeGreaterThanOrEqual(0);
        expect(explanation.datapoints.every(({ read }) => read.to === null || read.to <= '2099')).toBe(true);
      }
    }
  });

  test('an index that waits for bars explains the order of each security that it could not trade', () => {
    const { list, sm } = createComposerOn(market, [waitingIndex], last).compositions('WAITING');
    const seenReasons = new Set<string>();
    for (const [k, composition] of list.entries()) {
      const asOf = sm.sessions[composition.session]!;
      const ask = (column: number, day = asOf) =>
        explainConstituent(createComposerOn(market, [waitingIndex], day), 'WAITING', { column, asOf: day });
      const before = list[k - 1]?.columns ?? new Int32Array(0);
      const unpricedColumns = [...new Set([...before, ...composition.columns])].filter((column) =>
        Number.isNaN(sm.closeAt(composition.session, column)),
      );
      for (const column of unpricedColumns) {
        const explanation = ask(column);
        const heldWeight = k === 0 ? null : ask(column, sm.sessions[composition.session - 1]!).held;
        expect(explanation.held === null).toBe(heldWeight === null);
        const target = explanation.weight ?? 0;
        if (target === 0 && heldWeight === null) expect(explanation.order).toBeNull();
        else
          expect(explanation.order).toMatchObject({
            date: asOf,
            target,
            side: target > explanation.held! ? 'buy' : 'sell',
          });
        seenReasons.add(
          `${heldWeight === null ? 'not held' : 'held'}, ${explanation.weight === null ? 'left out' : 'decided'}`,
        );
      }
      const pricedColumns = composition.columns.filter((column) => !unpricedColumns.includes(column));
      for (const column of pricedColumns.slice(0, 3)) expect(ask(column).order).toBeNull();
    }
    expect([...seenReasons].toSorted()).toEqual(
      expect.arrayContaining(['held, decided', 'held, left out', 'not held, decided']),
    );
  });

  test('a security kept only by its buffer is reported', () => {
    const { list, sm } = createComposerOn(market, [bufferedIndex], last).compositions('BUFFERED');
    const reasons = list.slice(1).flatMap((composition) => {
      const asOf = sm.sessions[composition.session]!;
      const composer = createComposerOn(market, [bufferedIndex], asOf);
      return Array.from(
        composition.columns,
        (column) => explainConstituent(composer, 'BUFFERED', { column, asOf }).rules[1]!.reason,
      );
    });
    const stayedReasons = reasons.filter(({ incumbent }) => incumbent);
    expect(stayedReasons.length).toBeGreaterThan(0);
    for (const { rank, cutoff } of stayedReasons) {
      expect(rank!).toBeGreaterThan(8);
      expect([cutoff, rank! <= cutoff!]).toEqual([20, true]);
    }
  });
});

describe('the composition before a decision', () => {
  // A has no price from 10 January on, and stays until a review or a corporate action removes it.
  const names = ['A', 'B', 'C'];
  const CLOSE = Array.from({ length: 25 }, (_, t) => [t < 8 ? 100 : null, 50 + t, 30 + 2 * t]);
  const market = createTableMarket({ identifiers: names, fields: { CLOSE } });
  const createIndex = (selection: readonly unknown[], dates: readonly string[]) =>
    createRuleDocument(
      { selection, weighting: { type: 'EqualWeight' }, treatment: { max_stale_sessions: null } },
      { id: 'SIMPLE', rebalance: { frequency: 'custom', dates } },
    );
  const last = market.dates.at(-1)!;

  test('keeps a suspended constituent in the preview, as in the run, when no rule reads the constituents', () => {
    const document = createIndex([], ['2020-01-27']);
    const { list } = createComposerOn(market, [document], last).compositions('SIMPLE');
    expect(Array.from(list[1]!.columns)).toEqual([0, 1, 2]);
    const day = parseValidDay('2020-01-27');
    const { resolved } = previewRules(createComposerOn(market, [document], day), 'SIMPLE', day);
    if (resolved?.decision.kind !== 'decided') throw new Error('nothing was decided');
    expect(Array.from(resolved.decision.columns)).toEqual([0, 1, 2]);
  });

  test('is stated by the explanation of every rule, whether the rule reads it or not', () => {
    // C rises faster than B and passes it on the session with 50 + t = 30 + 2t, 29 January.
    const rule = { id: 'one', type: 'TopN', params: { field: 'CLOSE', count: 1 } };
    const document = createIndex(
      [{ id: 'named', type: 'ExcludeList', params: { identifiers: ['A'] } }, rule],
      ['2020-02-03'],
    );
    const asOf = parseValidDay('2020-02-04');
    const explain = (column: number) =>
      explainConstituent(createComposerOn(market, [document], asOf), 'SIMPLE', { column, asOf }).rules;
    expect(explain(1).map(({ constituent, kept }) => [constituent, kept])).toEqual([
      [true, true],
      [true, false],
    ]);
    expect(explain(2).map(({ constituent, kept }) => [constituent, kept])).toEqual([
      [false, true],
      [false, true],
    ]);
  });
});

describe('currencies', () => {
  const fields = {
    // Rates of EURUSD are 1.25 and 1.50. GBPUSD is missing.
    CLOSE: [
      [10, 10, 1.25, 10, 800],
      [10, 10, 1.5, 10, 800],
    ],
    SHARES_OUTSTANDING: [
      [100, 100, null, 100, 100],
      [100, 100, null, 100, 100],
    ],
    VOLUME: [
      [5, 5, null, 5, 5],
      [5, 5, null, 5, 5],
    ],
  };
  const identifiers = ['DOLLAR', 'EURO', 'EURUSD', 'NONE', 'PENCE'];
  const currency = { CURRENCY: ['USD', 'EUR', null, null, 'GBX'] };
  const market = createTableMarket({ identifiers, fields, reference: currency });
  const withSterling = createTableMarket({
    identifiers: [...identifiers, 'USDGBP'],
    fields: {
      CLOSE: fields.CLOSE.map((row) => [...row, 0.5]),
      SHARES_OUTSTANDING: fields.SHARES_OUTSTANDING.map((row) => [...row, null]),
      VOLUME: fields.VOLUME.map((row) => [...row, null]),
    },
    reference: { CURRENCY: [...currency.CURRENCY, null] },
  });

  test('money datapoints are in index currency at the rate of the date, minor units counted in hundredths', () => {
    const sm = alignDays(withSterling);
    // Each security has 100 shares. Their prices are 10 USD, 10 EUR, 10 in the index currency, and 800 pence with 2 USD
    // per pound.
    const caps = { DOLLAR: 1000, EURO: 1250, NONE: 1000, PENCE: 1600 };
    const total = 1000 + 1250 + 1000 + 1600;
    const expected = Object.fromEntries(
      Object.entries(caps).map(([name, cap]) => [name, expect.closeTo(cap / total, 14)]),
    );
    expect(weightBy(sm, { type: 'MarketCapWeight' }, { session: 0 })).toEqual(expected);
    expect(weightBy(sm, { type: 'PriceWeight' }, { session: 0 })).toEqual(expected);
    expect(selectByRule(sm, { type: 'PriceFilter', params: { minimum: 14, maximum: 15 } })).toEqual(['EURO']);
    expect(selectByRule(sm, { type: 'MarketCapFilter', params: { minimum: 1300 } })).toEqual(['EURO', 'PENCE']);
    // The filter compares CLOSE in the quoted currency.
    expect(selectByRule(sm, { type: 'RangeFilter', params: { field: 'CLOSE', minimum: 800 } })).toEqual(['PENCE']);
  });

  test('an exchange rate is no security of the universe', () => {
    const documents = [createRuleDocument({ weighting: { type: 'EqualWeight' } }, { id: 'ALL' })];
    const day = withSterling.dates.at(-1)!;
    const { resolved } = previewRules(createComposerOn(withSterling, documents, day), 'ALL', day);
    expect(Array.from(resolved!.universe, (column) => withSterling.identifiers[column])).toEqual([
      'DOLLAR',
      'EURO',
      'NONE',
      'PENCE',
    ]);
  });

  test('a missing rate is refused only once a security that needs it is read', () => {
    const sm = alignDays(market);
    const cappedWeighting = { type: 'MarketCapWeight' };
    expect(() => createDeciderOf(sm, { weighting: cappedWeighting }).decide(1, null)).toThrow(
      expect.objectContaining({ code: 'FX_MISSING', detail: { identifier: 'PENCE', pair: 'GBPUSD' } }),
    );
    const without = createDeciderOf(sm, {
      selection: [{ id: 'x', type: 'ExcludeList', params: { identifiers: ['PENCE'] } }],
      weighting: cappedWeighting,
    }).decide(1, null);
    expect(without.kind).toBe('decided');
  });
});

describe('the universe of a decision', () => {
  test('a security without a bar for longer than the maximum age is excluded', () => {
    const sm = alignDays(
      createTableMarket({
        identifiers: ['A', 'B'],
        fields: { CLOSE: [[1, 1], ...Array.from({ length: 8 }, () => [1, null])] },
      }),
    );
    expect(selectByRule(sm, { type: 'SeasoningFilter', params: { sessions: 0 } }, { session: 5 })).toEqual(['A', 'B']);
    expect(selectByRule(sm, { type: 'SeasoningFilter', params: { sessions: 0 } }, { session: 6 })).toEqual(['A']);
  });
});
