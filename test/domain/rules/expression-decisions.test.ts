import { describe, expect, test } from 'vitest';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { createComposer } from '#domain/books/composer.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import type { IndexDocument, RuleDocument } from '#domain/definition/index-document.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';
import { computeLookBack, createDecider } from '#domain/decide/rule-decider.js';
import { previewRules } from '#domain/decide/preview.js';
import { parseValidDay } from '#domain/base/time.js';
import {
  alignDays,
  CALENDARS,
  createGeneratedMarket,
  createTableMarket,
  listPriceable,
  WEEKDAYS,
} from './rule-market.js';

const knownIndices = new Map<string, IndexDocument>();

/** Returns an index document as stored, parsed from the body that a client sends. */
function storeIndex(id: string, body: Record<string, unknown>): RuleDocument {
  const sentBody = {
    id,
    name: id,
    calendar: 'TEST',
    base_date: '2020-03-02',
    rebalance: { frequency: 'monthly' },
    ...body,
  };
  const { document, findings } = validateIndex(sentBody, {
    calendars: CALENDARS.list(),
    indexOf: (name) => knownIndices.get(name),
  });
  if (document === undefined) throw new Error(JSON.stringify(findings));
  knownIndices.set(id, document);
  return document as RuleDocument;
}

const market = createGeneratedMarket({ names: 40, sessions: 320, seed: 21 });
const sm = alignDays(market);
const LAST = sm.sessions.length - 1;

function decideWeightsOn(document: RuleDocument, on = sm, session = on.sessions.length - 1): Record<string, number> {
  const decider = createDecider({ document, market: on, universe: (day) => listPriceable(on, day) });
  const decision = decider.decide(session, null);
  if (decision.kind !== 'decided') throw new Error(decision.finding.message);
  return Object.fromEntries(
    Array.from(decision.columns, (column, i) => [on.identifiers[column]!, decision.weights[i]!]),
  );
}

const createWeightedIndex = (id: string, field: unknown, rest: Record<string, unknown> = {}) =>
  storeIndex(id, { pipeline: { weighting: { type: 'FieldWeight', params: { field } } }, ...rest });

describe('an expression where a field is accepted', () => {
  test('weights equal the hand calculation from the values of its parts', () => {
    const result = decideWeightsOn(createWeightedIndex('TILTED', 'FREE_FLOAT_MARKET_CAP * max(1 + zscore(SCORE), 0)'));
    const all = Array.from(listPriceable(sm, LAST));
    const caps = decideWeightsOn(createWeightedIndex('CAPS', 'FREE_FLOAT_MARKET_CAP'));
    const row = market.fields.get('SCORE')!;
    const computeScore = (column: number): number => {
      for (let t = LAST; t >= LAST - 5; t--) {
        const value = sm.valueAt(row, t, column);
        if (!Number.isNaN(value)) return value;
      }
      return NaN;
    };
    const scores = all.map(computeScore);
    const presentScores = scores.filter((score) => !Number.isNaN(score));
    const mean = presentScores.reduce((sum, score) => sum + score, 0) / presentScores.length;
    const deviation = Math.sqrt(
      presentScores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / presentScores.length,
    );
    const raw = all.map(
      (column, i) => (caps[sm.identifiers[column]!] ?? NaN) * Math.max(0, 1 + (scores[i]! - mean) / deviation),
    );
    const total = raw.reduce((sum, value) => sum + (value > 0 ? value : 0), 0);
    expect(Object.keys(result).length).toBeGreaterThan(10);
    all.forEach((column, i) => {
      const weight = result[sm.identifiers[column]!] ?? 0;
      expect(weight).toBeCloseTo(raw[i]! > 0 ? raw[i]! / total : 0, 12);
    });
  });

  test('a named datapoint equals the expression that it names, also with lag and transform', () => {
    const datapoints = { VALUE: 'SCORE * 2 + 3', GOOD: 'zscore(VALUE, by=GROUP)', GROUP: 'SECTOR' };
    const namedWeights = decideWeightsOn(createWeightedIndex('NAMED', 'exp(GOOD)', { datapoints }));
    expect(namedWeights).toEqual(
      decideWeightsOn(createWeightedIndex('INLINE', 'exp(zscore(SCORE * 2 + 3, by=SECTOR))')),
    );
    const laggedWeights = decideWeightsOn(createWeightedIndex('LAGGED', 'exp(last(VALUE, lag=3))', { datapoints }));
    expect(laggedWeights).toEqual(decideWeightsOn(createWeightedIndex('LAGGED-INLINE', 'exp(SCORE(lag=3) * 2 + 3)')));
    const rankedIndex = createWeightedIndex('RANKED', { name: 'VALUE', transform: 'percentile' }, { datapoints });
    expect(decideWeightsOn(rankedIndex)).toEqual(
      decideWeightsOn(createWeightedIndex('RANKED-INLINE', 'percentile(SCORE * 2 + 3)')),
    );
  });

  test('a condition as text keeps the securities that its tree keeps', () => {
    const decideWeights = (expression: unknown) =>
      decideWeightsOn(
        storeIndex('FILTERED', {
          pipeline: {
            selection: [{ id: 'x', type: 'ExpressionFilter', params: { expression } }],
            weighting: { type: 'EqualWeight' },
          },
        }),
      );
    const comparison = {
      node: 'comparison',
      field: { node: 'field', name: 'SCORE', transform: 'percentile' },
      comparison: 'gt',
      value: 0.3,
    };
    const sector = { node: 'comparison', field: { node: 'field', name: 'SECTOR' }, comparison: 'ne', value: 'S0' };
    expect(decideWeights('percentile(SCORE) > 0.3 and SECTOR != "S0"')).toEqual(
      decideWeights({ node: 'all', operands: [comparison, sector] }),
    );
    expect(decideWeights('SCORE > median(SCORE, by=SECTOR)')).not.toEqual(decideWeights('SCORE > median(SCORE)'));
  });
});

describe('years of growth', () => {
  const parseDay = (date: string) => parseValidDay(date);
  const createDividendPaid = (identifier: string, year: number, value: number): Partial<CorporateAction> => ({
    identifier,
    type: 'DIVIDEND',
    value,
    exDay: parseDay(`${year}-06-01`),
  });
  /** Prices from 2020 to 2023. The decision is made in January 2023, so 2022 is the last complete year. */
  const first = WEEKDAYS.sessions.findIndex((session) => session >= parseDay('2020-01-01'));
  const sessions = WEEKDAYS.sessions.findIndex((session) => session > parseDay('2023-01-13')) - first;
  const names = ['CUT', 'FLAT', 'NEW', 'RISING', 'SPLIT', 'WITHIN'];
  const actions = [
    ...[1, 1.1, 1.2, 1.3, 1.4].map((value, i) => createDividendPaid('RISING', 2018 + i, value)),
    ...[1, 1.1, 0.9, 1.3, 1.4].map((value, i) => createDividendPaid('CUT', 2018 + i, value)),
    ...[1, 1.1, 1.2, 1.2, 1.3].map((value, i) => createDividendPaid('FLAT', 2018 + i, value)),
    ...[1, 1.2].map((value, i) => createDividendPaid('NEW', 2021 + i, value)),
    // After a two-for-one split in 2021, a dividend of 0.6 corresponds to 1.2 before the split.
    ...[1, 1.1, 1.15, 0.6, 0.61].map((value, i) => createDividendPaid('SPLIT', 2018 + i, value)),
    { identifier: 'SPLIT', type: 'SPLIT' as const, value: 2, exDay: parseDay('2021-01-04') },
    // Dividends paid in the year of the decision are not counted.
    ...[1, 1.1, 1.2].map((value, i) => createDividendPaid('WITHIN', 2020 + i, value)),
    { identifier: 'WITHIN', type: 'DIVIDEND' as const, value: 0.01, exDay: parseDay('2023-01-05') },
  ];
  const ownMarket = alignDays(
    createTableMarket({
      identifiers: names,
      fields: { CLOSE: Array.from({ length: sessions }, () => names.map(() => 10)) },
      actions,
    }),
  );

  test('are counted back from the last complete year on one share basis', () => {
    const document = createWeightedIndex('GROWTH', 'years_of_growth(DIVIDEND)');
    const years = { RISING: 4, CUT: 2, FLAT: 1, NEW: 1, SPLIT: 4, WITHIN: 2 };
    const total = Object.values(years).reduce((sum, count) => sum + count, 0);
    const weights = decideWeightsOn(document, ownMarket);
    for (const [name, count] of Object.entries(years)) expect(weights[name]).toBeCloseTo(count / total, 12);
  });
});

describe('other indices and the index itself', () => {
  const parent = storeIndex('PARENT', {
    pipeline: {
      selection: [{ id: 'size', type: 'TopN', params: { field: 'FREE_FLOAT_MARKET_CAP', count: 15 } }],
      weighting: { type: 'FieldWeight', params: { field: 'FREE_FLOAT_MARKET_CAP' } },
    },
  });
  const child = storeIndex('CHILD', {
    pipeline: {
      selection: [{ id: 'score', type: 'TopN', params: { field: 'SCORE + 0.1 * is_constituent()', count: 20 } }],
      weighting: { type: 'FieldWeight', params: { field: '1 + 100 * weight_in("PARENT") + member_of("PARENT")' } },
    },
  });
  const createComposerOn = (on: MarketData, until: number) =>
    createComposer({
      market: on,
      calendars: CALENDARS,
      documents: { PARENT: parent, CHILD: child },
      until,
      createDecider: indexDecider,
    });
  const composer = createComposerOn(market, market.dates.at(-1)!);
  const { list } = composer.compositions('CHILD');

  test('weights follow the weights of the other index as decided on the same day', () => {
    expect(list.length).toBeGreaterThan(8);
    for (const { decision, columns, weights } of list) {
      const other = composer.decidedOn('PARENT', decision)!;
      expect(other.decision).toBe(decision);
      const raw = Array.from(columns, (column) => {
        const position = other.columns.indexOf(column);
        return position < 0 ? 1 : 2 + 100 * other.weights[position]!;
      });
      const total = raw.reduce((sum, value) => sum + value, 0);
      raw.forEach((value, i) => expect(weights[i]).toBeCloseTo(value / total, 12));
    }
  });

  test('constituents are those before the decision; the first decision has none', () => {
    const bareDocument = storeIndex('BARE', {
      pipeline: {
        selection: [{ id: 'score', type: 'TopN', params: { field: 'SCORE', count: 20 } }],
        weighting: { type: 'EqualWeight' },
      },
    });
    const decideColumns = (document: RuleDocument, session: number, incumbents: Int32Array | null) => {
      const decider = createDecider({
        document,
        market: sm,
        universe: (day) => listPriceable(sm, day),
        indexWeights: (id, day) => composer.decidedOn(id, day) ?? null,
      });
      const decision = decider.decide(session, incumbents);
      return decision.kind === 'decided' ? Array.from(decision.columns) : [];
    };
    const [first, second] = list;
    expect(Array.from(first!.columns)).toEqual(decideColumns(bareDocument, first!.decision, null));
    expect(Array.from(second!.columns)).toEqual(decideColumns(child, second!.decision, first!.columns));
    const sticky = list.filter(
      ({ decision, columns }) => decideColumns(bareDocument, decision, null).join() !== columns.join(),
    );
    expect(sticky.length).toBeGreaterThan(0);
  });

  test('a preview of a decision date is the decision of the run', () => {
    for (const { decision, columns, weights } of list.slice(0, 6)) {
      const day = sm.sessions[decision]!;
      const { resolved } = previewRules(createComposerOn(market, day), 'CHILD', day);
      if (resolved?.decision.kind !== 'decided') throw new Error('nothing was decided');
      expect(Array.from(resolved.decision.columns)).toEqual(Array.from(columns));
      expect(Array.from(resolved.decision.weights)).toEqual(Array.from(weights));
    }
  });
});

test('an expression looks back as far as its datapoints', () => {
  const createSession = (field: unknown) => {
    const document = storeIndex('BACK', {
      pipeline: {
        selection: [{ id: 'x', type: 'TopN', params: { field, count: 5 } }],
        weighting: { type: 'EqualWeight' },
      },
    });
    return computeLookBack({ document, sm, decision: 300 });
  };
  const returns = { name: 'RETURN', aggregate: 'std', window: 120, lag: 9 };
  expect(createSession('1 / std(RETURN, window=120, lag=9)')).toEqual(createSession(returns));
  expect(createSession('mean(RETURN(lag=9) * 2, window=120)')).toEqual(createSession(returns));
  expect(createSession('zscore(MOMENTUM(window=200, lag=10)) - zscore(AGE)')).toEqual(
    createSession({ name: 'MOMENTUM', window: 200, lag: 10 }),
  );
  expect(createSession('years_of_growth(DIVIDEND)').paidAfter).toBeLessThan(parseValidDay('1930-01-01'));
});

describe('the time until a date of a column', () => {
  // 2020-03-06 is a Friday. The calendar has every weekday from 2015 to 2024.
  const ends = ['2020-03-06', '2020-03-07', '2020-03-09', '2020-03-05', '2025-01-02', 'March', null];
  const dated = alignDays(
    createTableMarket({
      identifiers: ends.map((_, i) => `S${i}`),
      fields: { CLOSE: Array.from({ length: 3 }, () => ends.map(() => 10)) },
      reference: { ENDS: ends },
      start: '2020-03-04',
    }),
  );
  const evaluate = (text: string) => {
    const { cross } = createDecider({
      document: createWeightedIndex('DATED', text),
      market: dated,
      universe: (day) => listPriceable(dated, day),
    }).trace(2, null);
    return [...cross.numbers(parseExpression(text).tree, cross.universe)];
  };

  test('counts calendar days, and sessions after the decision up to the date', () => {
    expect(evaluate('days_until(ENDS)')).toEqual([0, 1, 3, -1, 1763, NaN, NaN]);
    expect(evaluate('sessions_until(ENDS)')).toEqual([0, 0, 1, -1, NaN, NaN, NaN]);
  });

  test('a number, a datapoint over a window and an expression are no dates', () => {
    const validate = (field: string) => {
      const weighting = { type: 'FieldWeight', params: { field } };
      const body = { id: 'BAD', name: 'B', calendar: 'TEST', base_date: '2020-03-04', pipeline: { weighting } };
      const { findings } = validateIndex(body, { calendars: CALENDARS.list(), indexOf: () => undefined });
      return findings.filter(({ severity }) => severity === 'error').map(({ code }) => code);
    };
    expect(validate('days_until(3)')).toEqual(['WRONG_TYPE']);
    expect(validate('days_until(CLOSE + 1)')).toEqual(['WRONG_TYPE']);
    expect(validate('days_until(ENDS, ENDS)')).toContain('OUT_OF_RANGE');
    expect(validate('1 + days_until(ENDS)')).toEqual([]);
  });
});

describe('the weights of another index after a close', () => {
  const NAMES = ['A', 'B', 'C', 'D', 'E'];
  const SESSIONS = 190;
  const [SPLIT, LEAVES, CORRECTED] = [75, 100, 120];
  const readPrice = (name: number, t: number): number =>
    (40 + 10 * name + 15 * Math.sin(t / (6 + name) + name)) / (name === 2 && t >= SPLIT ? 4 : 1);
  const createPrices = (read: (name: number, t: number) => number): MarketData =>
    createTableMarket({
      identifiers: NAMES,
      fields: {
        CLOSE: Array.from({ length: SESSIONS }, (_, t) =>
          NAMES.map((_, name) => (name === 3 && t > LEAVES ? null : read(name, t))),
        ),
      },
      actions: [
        { identifier: 'C', type: 'SPLIT', value: 4, exDay: days[SPLIT]! },
        { identifier: 'D', type: 'DELISTING', exDay: days[LEAVES]! },
      ],
    });
  const days = sm.sessions;
  const prices = createPrices(readPrice);
  const monthOf = (t: number): number => new Date(days[t]! * 864e5).getUTCMonth();
  const isMonthEnd = (t: number): boolean => t === 0 || (t < SESSIONS - 1 && monthOf(t + 1) !== monthOf(t));
  const isQuarterEnd = (t: number): boolean => t === 0 || (isMonthEnd(t) && monthOf(t) % 3 === 2);
  const schedule = { base_date: '2020-01-01', rebalance: { frequency: 'monthly' } };
  const quarterly = { base_date: '2020-01-01', rebalance: { frequency: 'quarterly' } };
  const composeChild = (field: string, on: MarketData, known?: (day: number) => MarketData) => {
    const documents = {
      WHOLE: storeIndex('WHOLE', { ...quarterly, pipeline: { weighting: { type: 'EqualWeight' } } }),
      PART: createWeightedIndex('PART', field, schedule),
    };
    const composer = createComposer({
      market: on,
      calendars: CALENDARS,
      documents,
      until: on.dates.at(-1)!,
      createDecider: indexDecider,
      ...(known === undefined ? {} : { known: { at: known } }),
    });
    return composer.compositions('PART').list;
  };

  /** Equal weights at the last quarter end, moved by the prices of a version; C splits, and D leaves. */
  function computeDrifted(t: number, read: (name: number, t: number) => number): number[] {
    const begin = Array.from({ length: t + 1 }, (_, i) => t - i).find(isQuarterEnd)!;
    const names = NAMES.map((_, name) => name).filter((name) => name !== 3 || begin < LEAVES);
    const values = NAMES.map((_, name) => {
      if (!names.includes(name) || (name === 3 && t >= LEAVES)) return 0;
      const split = name === 2 && begin < SPLIT && t >= SPLIT ? 4 : 1;
      return (split * read(name, t)) / read(name, begin);
    });
    const sum = values.reduce((total, value) => total + value, 0);
    return values.map((value) => value / sum);
  }

  test('are its shares at the closes, also after a split and after a constituent left, and those of the decision are not', () => {
    const list = composeChild('drifted_weight_in("WHOLE")', prices);
    expect(list.length).toBeGreaterThan(8);
    for (const { session, columns, weights } of list) {
      const expected = computeDrifted(session, readPrice);
      expect([...columns]).toEqual(NAMES.flatMap((_, name) => (expected[name] === 0 ? [] : [name])));
      columns.forEach((column, k) => expect(weights[k]).toBeCloseTo(expected[column]!, 13));
    }
    const decided = composeChild('weight_in("WHOLE")', prices);
    expect(decided[1]!.weights.every((weight) => Math.abs(weight - 0.2) < 1e-15)).toBe(true);
    expect(Math.max(...list[1]!.weights)).toBeGreaterThan(0.22);
  });

  const cutAt = (whole: MarketData, rows: number): MarketData => ({
    ...whole,
    dates: whole.dates.slice(0, rows),
    fields: new Map([...whole.fields].map(([name, panel]) => [name, panel.slice(0, rows * NAMES.length)])),
    actions: whole.actions.filter(({ exDay }) => exDay <= days[rows - 1]!),
  });

  test.each(['drifted_weight_in("WHOLE")', '0.1 + coalesce(last_review(drifted_weight_in("WHOLE")), 0)'])(
    'read nothing after a decision: %s',
    (field) => {
      const whole = composeChild(field, prices);
      for (const rows of [61, 104, 150]) {
        const cut = composeChild(field, cutAt(prices, rows));
        expect(cut.map(({ weights }) => [...weights])).toEqual(
          whole.slice(0, cut.length).map(({ weights }) => [...weights]),
        );
      }
    },
  );

  test('move by the prices that were known at the decision', () => {
    const readCorrected = (name: number, t: number) => readPrice(name, t) * (name === 1 ? 1 + t / 100 : 1);
    const corrected = createPrices(readCorrected);
    const knownAt = (day: number): MarketData => {
      const rows = days.findIndex((one) => one > day);
      return rows <= CORRECTED ? cutAt(prices, rows) : cutAt(corrected, rows);
    };
    const list = composeChild('drifted_weight_in("WHOLE")', cutAt(corrected, SESSIONS), knownAt);
    for (const { session, columns, weights } of list) {
      const expected = computeDrifted(session, session < CORRECTED ? readPrice : readCorrected);
      columns.forEach((column, k) => expect(weights[k]).toBeCloseTo(expected[column]!, 13));
    }
  });

  test('an overlay has none, because the indices beneath it hold the securities', () => {
    const overlay = { id: 'HELD', name: 'H', calendar: 'TEST', ...schedule, rebalance: undefined, kind: 'overlay' };
    storeIndex('WHOLE', { ...quarterly, pipeline: { weighting: { type: 'EqualWeight' } } });
    storeIndex('HELD', { ...overlay, source_index_id: 'WHOLE', overlay: { type: 'fee', percent: 1 } });
    const body = { id: 'ABOVE', name: 'A', calendar: 'TEST', ...schedule };
    const weighting = { type: 'FieldWeight', params: { field: 'drifted_weight_in("HELD")' } };
    const { findings } = validateIndex(
      { ...body, pipeline: { weighting } },
      { calendars: CALENDARS.list(), indexOf: (name) => knownIndices.get(name) },
    );
    expect(findings.filter(({ severity }) => severity === 'error')).toMatchObject([
      { code: 'NOT_IN_CHOICES', value: 'HELD', path: 'pipeline.weighting.params.field' },
    ]);
  });
});
