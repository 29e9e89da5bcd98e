import { describe, expect, test } from 'vitest';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { type CandidateTerms, evaluateTerms } from '#domain/studies/difference-terms.js';
import { isEqualAt, listErrors } from '#domain/studies/outside-levels.js';
import { seeded } from '../../seeded.js';
import { buildMarket } from '../backtest/market-builder.js';
import { createWideCase } from './wide-differences.js';
import {
  applyChanges,
  CALENDARS,
  createPlantedCase,
  explainCase,
  measureErrors,
  round,
  scoreCase,
  withBars,
} from './planted-differences.js';

const CASES = Number(process.env['PLANTED_CASES'] ?? 12);

describe('an outside level with 1 to 4 causes', () => {
  test.each([
    ['of an index with a list of constituents', (seed: number) => createPlantedCase(seed)],
    [
      'of an index with constituents by date and dividends reinvested at the previous close',
      (seed: number) => createPlantedCase(seed, true),
    ],
    ['of any kind, of an index of any of the supported kinds', createWideCase],
  ])(
    '%s is explained: at least 19 of 20 causes are named, no other cause is, and the changes reproduce it',
    (_, createCase) => {
      const total = { planted: 0, named: 0, wrong: 0, reproduced: 0 };
      for (let seed = 1; seed <= CASES; seed++) {
        const planted = createCase(seed);
        if (planted === null) continue;
        const found = explainCase(planted);
        const score = scoreCase(planted, found);
        const isOfRun = found.causes.every(
          ({ change: { rounding } }) => rounding === null || Object.keys(rounding).every((name) => name === 'variant'),
        );
        if (found.reproduced && isOfRun) {
          total.reproduced++;
          const changed = applyChanges(planted.terms, found.causes);
          expect(measureErrors(planted, changed), `largest error of the case ${seed}`).toBeLessThanOrEqual(1.01);
        }
        total.planted += score.planted;
        total.named += score.named;
        total.wrong += score.wrong;
      }
      expect(total.wrong).toBe(0);
      expect(total.reproduced).toBeGreaterThan(CASES / 2);
      expect(total.named / total.planted).toBeGreaterThanOrEqual(0.95);
    },
  );
});

test.each([
  ['roundings to several numbers of decimals that explain the same first sessions', 126],
  ['a ratio of a split far from its own in an index by prices', 127],
  ['a session near the rounding before a convention is found', 158],
  ['the square of the ratio of a split in an index by prices', 163],
  ['a review a session early, with weights fixed at its effect', 102],
  ['a review a session early, with another cap', 200],
  ['a rights issue and a dividend of another type on one day', 254],
  ['points of a decrement that another day count would make a long number', 3039],
  ['a spin-off that is left out, after which each return differs', 3053],
  ['levels stated with more decimals than they have, with a share count a review early', 3675],
])('%s: the planted causes are named, and no other', (_, seed) => {
  const planted = createWideCase(seed)!;
  const { causes, reproduced } = explainCase(planted);
  const toText = (
    some: readonly { subject: string; manner: string; identifier: string | null; date: string | null }[],
  ) => some.map(({ subject, manner, identifier, date }) => `${subject} ${manner} ${identifier} ${date}`).toSorted();
  expect(toText(causes)).toEqual(toText(planted.plants));
  expect(reproduced).toBe(true);
});

test('a price is carried as long as the bars are others, also over a decision', () => {
  const planted = createPlantedCase(61)!;
  const carried = explainCase(planted).causes.filter(({ manner }) => manner === 'carried');
  expect(carried.map(({ identifier, date, through }) => [identifier, date, through])).toEqual([
    ['FF', '2020-11-30', '2020-12-02'],
  ]);
});

test('a price in a gap of the store and another change of the same size are ties', () => {
  const { causes } = explainCase(createWideCase(203)!);
  const names = causes.flatMap((cause) =>
    [cause, ...cause.ties].map(({ identifier, date }) => `${identifier} ${date}`),
  );
  expect(names).toContain('N16 2020-08-28');
  expect(names).toContain('N04 2020-08-28');
});

/** Explains levels of the index of 40 equal weights. Default: with 6 decimals. */
function explainRounded(
  changed: CandidateTerms,
  {
    skipped = [],
    scale = 1,
    from = 0,
    decimals = 6,
    scaledFrom = Infinity,
    factor = 10,
  }: {
    readonly skipped?: readonly number[];
    readonly scale?: number;
    readonly from?: number;
    readonly decimals?: number;
    /** Position of the first level that is ten times as large. */
    readonly scaledFrom?: number;
    readonly factor?: number;
  } = {},
) {
  const { days, levels } = evaluateTerms(changed);
  const used = [...days.keys()].filter((t) => t >= from && !skipped.includes(t));
  const values = Float64Array.from(used, (t) => scale * levels[t]! * (t >= scaledFrom ? factor : 1));
  const outside = { days: Int32Array.from(used, (t) => days[t]!), values: round(values, decimals) };
  return explainCase({ terms: createRoundedIndex(), outside, decimals, plants: [] });
}

test('an event on a session without a level from outside is found at the next level', () => {
  // The special dividend is on the session 10, and the levels begin with the session 1.
  const terms = createRoundedIndex();
  const actions = terms.market.actions.filter(({ type }) => type !== 'SPECIAL_DIVIDEND');
  const { causes, reproduced } = explainRounded({ ...terms, market: { ...terms.market, actions } }, { skipped: [9] });
  expect(causes.map(({ subject, manner, identifier }) => [subject, manner, identifier])).toEqual([
    ['special_dividend', 'ignored', 'N00'],
  ]);
  expect(reproduced).toBe(true);
});

/** Explains the rounded levels of the index of 40 equal weights after a change of them. */
function explainChanged(decimals: number, change: (values: Float64Array) => void) {
  const terms = createRoundedIndex();
  const { days, levels } = evaluateTerms(terms);
  const values = round(levels, decimals);
  change(values);
  return explainCase({ terms, outside: { days, values: round(values, decimals) }, decimals, plants: [] });
}

test('levels that differ by one unit of the last digit have no cause', () => {
  const { causes, sessions } = explainChanged(2, (values) => {
    values[5]! += 0.01;
    values[17]! -= 0.01;
  });
  expect(causes).toEqual([]);
  expect(sessions.unexplained).toHaveLength(2);
});

test('a step below one unit of the last digit that all later levels have is no noise', () => {
  // 0.032 of a price of 100 with a weight of 1 / 40 is 0.008 of a level of 1000 with 2 decimals.
  const terms = createRoundedIndex();
  const pay = (value: number): CandidateTerms => ({
    ...terms,
    market: {
      ...terms.market,
      actions: terms.market.actions.flatMap((action) =>
        action.type !== 'SPECIAL_DIVIDEND' ? [action] : value === 0 ? [] : [{ ...action, value }],
      ),
    },
  });
  const { days, levels } = evaluateTerms(pay(0));
  const outside = { days, values: round(levels, 2) };
  const { causes, reproduced } = explainCase({ terms: pay(0.032), outside, decimals: 2, plants: [] });
  expect(causes.map(({ subject, manner, identifier }) => [subject, manner, identifier])).toEqual([
    ['special_dividend', 'ignored', 'N00'],
  ]);
  expect(reproduced).toBe(true);
});

test('a level that repeats the previous one is an error of that session, of no security', () => {
  const { causes, reproduced } = explainChanged(6, (values) => {
    values[12] = values[11]!;
  });
  expect(causes.map(({ subject, manner, identifier }) => [subject, manner, identifier])).toEqual([
    ['price', 'carried', null],
  ]);
  expect(causes[0]!.date).toBe(causes[0]!.through);
  expect(reproduced).toBe(true);
});

test('a level that is that of the previous session by chance, after which no level agrees, has no cause', () => {
  const { causes, sessions } = explainChanged(6, (values) => {
    const factor = values[11]! / values[12]!;
    for (let t = 12; t < values.length; t++) values[t] = Number((values[t]! * factor).toFixed(6));
  });
  expect(causes).toEqual([]);
  expect(sessions.unexplained).toHaveLength(1);
});

test.each([2, 4])('a level that is there %d times is an error of each session that repeats it', (count) => {
  const { causes, reproduced } = explainChanged(6, (values) => {
    values.fill(values[11]!, 12, 11 + count);
  });
  expect(causes.map(({ manner, identifier }) => [manner, identifier])).toEqual(
    Array.from({ length: count - 1 }, () => ['carried', null]),
  );
  expect(reproduced).toBe(true);
});

test('a special dividend that is added to the close before it, not subtracted, is inverted', () => {
  const terms = createRoundedIndex();
  const special = terms.market.actions.find(({ type }) => type === 'SPECIAL_DIVIDEND')!;
  const explainAmount = (value: number | null) => {
    const actions = terms.market.actions.flatMap((action) =>
      action !== special ? [action] : value === null ? [] : [{ ...action, value }],
    );
    return explainRounded({ ...terms, market: { ...terms.market, actions } }).causes.map(({ manner }) => manner);
  };
  expect([null, -special.value].map(explainAmount)).toEqual([['ignored'], ['inverted']]);
});

test('an event that is two sessions late has the date of the run', () => {
  const terms = createRoundedIndex();
  const { days } = evaluateTerms(terms);
  const special = terms.market.actions.find(({ type }) => type === 'SPECIAL_DIVIDEND')!;
  const exDay = days[days.indexOf(special.exDay) + 2]!;
  const actions = terms.market.actions.map((action) => (action === special ? { ...action, exDay } : action));
  const { causes, reproduced } = explainRounded({ ...terms, market: { ...terms.market, actions } });
  expect(causes.map(({ subject, manner, date }) => [subject, manner, date])).toEqual([
    ['special_dividend', 'late', formatDay(special.exDay)],
  ]);
  expect(causes[0]!.sentence).toContain('two sessions late');
  expect(reproduced).toBe(true);
});

test('a fee is found in levels that begin in the middle of a run, at another scale', () => {
  const terms = createRoundedIndex();
  const paid: CandidateTerms = {
    ...terms,
    reading: [
      {
        kind: 'levels',
        terms: {},
        change: (levels, days) => levels.map((level, t) => level * 0.99 ** ((days[t]! - days[0]!) / 365)),
      },
    ],
  };
  const { causes, reproduced } = explainRounded(paid, { scale: 7.3, from: 20 });
  expect(causes.map(({ subject, manner, value }) => [subject, manner, value])).toEqual([['fee', 'added', 0.01]]);
  expect(reproduced).toBe(true);
});

test('a fee is found although one level of the outside series is wrong', () => {
  const terms = createRoundedIndex();
  const { days, levels } = evaluateTerms(terms);
  const values = levels.map((level, t) => level * 0.9965 ** ((days[t]! - days[0]!) / 365) * (t === 30 ? 1.004 : 1));
  const outside = { days, values: round(values, 4) };
  const { causes, sessions } = explainCase({ terms, outside, decimals: 4, plants: [] });
  expect(causes.map(({ subject, manner, value }) => [subject, manner, value])).toEqual([['fee', 'added', 0.0035]]);
  expect(sessions.unexplained.map(({ date }) => date)).toEqual([formatDay(days[30]!)]);
});

/** Returns the index of 40 equal weights with the closes of two securities carried on the session 10, one also on the next. */
function carryTwo({ isPaid }: { readonly isPaid: boolean }): CandidateTerms {
  const terms = createRoundedIndex();
  const carried = withBars(terms, 'CLOSE', (panel, width) => {
    panel[10 * width + 5] = panel[9 * width + 5]!;
    panel[10 * width + 7] = panel[9 * width + 7]!;
    panel[11 * width + 7] = panel[9 * width + 7]!;
  });
  const actions = carried.market.actions.filter(({ type }) => isPaid || type !== 'SPECIAL_DIVIDEND');
  return { ...carried, market: { ...carried.market, actions } };
}

test('two prices that are carried on the session of a dividend that is left out are found together, each for its time', () => {
  // 3 of the 40 changes of a kind are 9,880 sets. Levels of 1000 with 6 decimals distinguish them.
  const { causes, reproduced } = explainRounded(carryTwo({ isPaid: false }));
  expect(
    causes
      .map(({ subject, manner, identifier, date, through }) => [subject, manner, identifier, date, through])
      .toSorted(),
  ).toEqual([
    ['price', 'carried', 'N05', '2020-01-16', '2020-01-16'],
    ['price', 'carried', 'N07', '2020-01-16', '2020-01-17'],
    ['special_dividend', 'ignored', 'N00', '2020-01-16', null],
  ]);
  expect(reproduced).toBe(true);
});

test('two prices that are carried on one session are not stated if rounded levels agree with other pairs of prices', () => {
  // The 780 pairs move the level by at most 15 basis points, which are 300 units of 2 decimals.
  const { causes, sessions } = explainRounded(carryTwo({ isPaid: true }), { decimals: 2 });
  expect(causes).toEqual([]);
  expect(sessions.unexplained.map(({ date }) => date)).toContain('2020-01-16');
});

/** Returns the index of 40 equal weights with a special dividend of two securities on the session 10. */
function payTwo(first: number, second: number): CandidateTerms {
  const terms = createRoundedIndex();
  const pay = (identifier: string, value: number) =>
    terms.market.actions
      .filter(({ type }) => type === 'SPECIAL_DIVIDEND')
      .map((action) => ({ ...action, identifier, value }));
  const others = terms.market.actions.filter(({ type }) => type !== 'SPECIAL_DIVIDEND');
  return { ...terms, market: { ...terms.market, actions: [...pay('N00', first), ...others, ...pay('N02', second)] } };
}

test('values of two events of one session that explain the levels as well are ties', () => {
  // 0.30 of a price of 100 with a weight of 1 / 40 is 0.075 of a level of 1000: one cent is a quarter of a unit of 2 decimals.
  const { days, levels } = evaluateTerms(payTwo(1.3, 1));
  const outside = { days: days.slice(0, 15), values: round(levels.slice(0, 15), 2) };
  const { causes, reproduced } = explainCase({ terms: payTwo(1, 1), outside, decimals: 2, plants: [] });
  expect(causes).toHaveLength(1);
  const names = causes
    .flatMap((cause) => [cause, ...cause.ties])
    .map(({ subject, manner, identifier }) => [subject, manner, identifier]);
  expect(names).toContainEqual(['special_dividend', 'value', 'N00']);
  expect(names).toContainEqual(['special_dividend', 'value', 'N02']);
  expect(reproduced).toBe(true);
});

test('an event whose size hardly any other change has is stated although the next session but one has no explanation', () => {
  // 4.00 of a price of 100 with a weight of 1 / 40 are 10 basis points, which are 10,000 units of 4 decimals.
  const { days, levels } = evaluateTerms(payTwo(0, 1));
  const values = levels.map((level, t) => level * (t >= 11 ? 1.00071 : 1));
  const outside = { days, values: round(values, 4) };
  const { causes, sessions } = explainCase({ terms: payTwo(4, 1), outside, decimals: 4, plants: [] });
  expect(causes.map(({ subject, manner, identifier }) => [subject, manner, identifier])).toEqual([
    ['special_dividend', 'ignored', 'N00'],
  ]);
  expect(sessions.unexplained.map(({ date }) => date)).toEqual([formatDay(days[11]!)]);
});

test('a change of scale is tied with one on a session before it that has no level from outside', () => {
  const { causes, reproduced } = explainRounded(createRoundedIndex(), { skipped: [19], scaledFrom: 19 });
  expect(causes.map(({ subject, date, value }) => [subject, date, value])).toEqual([['scale', '2020-01-31', 10]]);
  expect(causes[0]!.ties.map(({ subject, date }) => [subject, date])).toEqual([['scale', '2020-01-30']]);
  expect(reproduced).toBe(true);
});

test.each([
  [1 / 4, [0.25]],
  [1.01, [1.01]],
  [100 / 99, []],
])('a change of scale is a number with few decimals or the inverse of an integer: %d', (factor, values) => {
  const { causes, sessions } = explainRounded(createRoundedIndex(), { scaledFrom: 19, factor });
  expect(causes.map(({ value }) => value)).toEqual(values);
  expect(sessions.unexplained).toHaveLength(1 - values.length);
});

test.each([0.5, 10, 0.1])('a level of one session that is wrong by the factor %d is no change of scale', (factor) => {
  const { causes, sessions } = explainChanged(6, (values) => {
    values[19]! *= factor;
  });
  expect(causes).toEqual([]);
  expect(sessions.unexplained.map(({ single }) => single)).toEqual([true]);
});

test('a change of scale is found on the session of an event that is left out', () => {
  const terms = createRoundedIndex();
  const actions = terms.market.actions.filter(({ type }) => type !== 'SPECIAL_DIVIDEND');
  const changed = { ...terms, market: { ...terms.market, actions } };
  const { causes, reproduced } = explainRounded(changed, { scaledFrom: 9 });
  expect(causes.map(({ subject, identifier, date }) => [subject, identifier, date])).toEqual([
    ['scale', null, '2020-01-16'],
    ['special_dividend', 'N00', '2020-01-16'],
  ]);
  expect(reproduced).toBe(true);
});

test('of two changes that are tried together, one without an effect is no cause', () => {
  expect(explainCase(createWideCase(926)!).causes.map(({ subject }) => subject)).toEqual([
    'split',
    'shares',
    'rebalance',
  ]);
});

/** Returns an index of 40 equal weights with a small special dividend and, a month later, the acquisition of a constituent. */
function createRoundedIndex(): CandidateTerms {
  const next = seeded(3);
  const dates: string[] = [];
  for (let day = parseValidDay('2020-01-02'); dates.length < 60; day++)
    if (toWeekday(day) < 5) dates.push(formatDay(day));
  const names = Array.from({ length: 40 }, (_, k) => `N${String(k).padStart(2, '0')}`);
  const close = Object.fromEntries(
    names.map((name) => [
      name,
      dates.map((_, t) => (name === 'N01' && t >= 30 ? null : Math.round(10_000 + 300 * next()) / 100)),
    ]),
  );
  return {
    market: buildMarket({
      dates,
      close,
      actions: [
        { name: 'N00', type: 'SPECIAL_DIVIDEND', value: 0.01, ex: dates[10]! },
        { name: 'N01', type: 'ACQUISITION', value: 100, ex: dates[30]! },
      ],
      reference: Object.fromEntries(names.map((name) => [name, { CURRENCY: 'USD' }])),
    }),
    documents: {
      X: IndexDocument.parse({
        id: 'X',
        name: 'X',
        calendar: 'MAIN',
        base_date: '2020-01-03',
        base_value: 1000,
        universe: { kind: 'list', identifiers: names },
        rebalance: { frequency: 'annual' },
        pipeline: { treatment: { dividends: 'price' }, weighting: { type: 'EqualWeight' } },
      }),
    },
    indexId: 'X',
    variant: 'price',
    calendars: CALENDARS,
    createDecider: indexDecider,
    end: parseValidDay(dates.at(-1)!),
    reading: [],
  };
}

test('a convention of special dividends is found although ordinary dividends before have no effect', () => {
  const dates: string[] = [];
  for (let day = parseValidDay('2020-01-02'); dates.length < 150; day++)
    if (toWeekday(day) < 5) dates.push(formatDay(day));
  const terms = createRoundedIndex();
  const names = ['N00', 'N01', 'N02'];
  const next = seeded(5);
  const market = buildMarket({
    dates,
    close: Object.fromEntries(names.map((name) => [name, dates.map(() => Math.round(10_000 + 300 * next()) / 100)])),
    actions: [
      { name: 'N00', type: 'DIVIDEND', value: 1, ex: dates[10]! },
      { name: 'N01', type: 'SPECIAL_DIVIDEND', value: 5, ex: dates[120]! },
      { name: 'N02', type: 'SPECIAL_DIVIDEND', value: 4, ex: dates[135]! },
    ],
    reference: Object.fromEntries(names.map((name) => [name, { CURRENCY: 'USD' }])),
  });
  const X = terms.documents['X']!;
  const treat = (specialDividends: string): CandidateTerms => ({
    ...terms,
    market,
    documents: {
      X: IndexDocument.parse({
        ...X,
        universe: { kind: 'list', identifiers: names },
        pipeline: { ...X.pipeline, treatment: { dividends: 'total', special_dividends: specialDividends } },
      }),
    },
    variant: 'total',
    end: parseValidDay(dates.at(-1)!),
  });
  const { days, levels } = evaluateTerms(treat('adjust'));
  const outside = { days, values: round(levels, 6) };
  const { causes, reproduced } = explainCase({ terms: treat('ignore'), outside, decimals: 6, plants: [] });
  expect(causes.map(({ subject, manner, date }) => [subject, manner, date])).toEqual([['reinvestment', 'value', null]]);
  expect(reproduced).toBe(true);
});

/** Returns an index of three equal weights, of which one is in EUR, and optional events. Prices are around 100. */
function createThree(
  sessions: number,
  { lateRate = false, ratio = null }: { readonly lateRate?: boolean; readonly ratio?: number | null } = {},
): CandidateTerms {
  const dates: string[] = [];
  for (let day = parseValidDay('2020-01-02'); dates.length < sessions; day++)
    if (toWeekday(day) < 5) dates.push(formatDay(day));
  const terms = createRoundedIndex();
  const names = ['N00', 'N01', 'N02'];
  const next = seeded(7);
  const draw = (): number[] => dates.map(() => Math.round(10_000 + 300 * next()) / 100);
  const rates = dates.map(() => Math.round(11_000 + 300 * next()) / 10_000);
  const close = Object.fromEntries(names.map((name) => [name, draw()]));
  // Ten shares become one on the session 20, so that the price is ten times as high.
  if (ratio !== null) close['N00'] = close['N00']!.map((price, t) => (t < 20 ? price : 10 * price));
  const market = buildMarket({
    dates,
    close: { ...close, EURUSD: rates.map((rate, t) => (lateRate ? rates[Math.max(0, t - 1)]! : rate)) },
    actions: ratio === null ? [] : [{ name: 'N00', type: 'SPLIT', value: ratio, ex: dates[20]! }],
    reference: { N00: { CURRENCY: 'USD' }, N01: { CURRENCY: 'USD' }, N02: { CURRENCY: 'EUR' } },
  });
  const universe = { kind: 'list', identifiers: names };
  return {
    ...terms,
    market,
    documents: { X: IndexDocument.parse({ ...terms.documents['X'], universe }) },
    end: parseValidDay(dates.at(-1)!),
  };
}

test('two conventions without each of which no return agrees are found together', () => {
  // Rates of the previous session, and each level on the next session.
  const { days, levels } = evaluateTerms(createThree(80, { lateRate: true }));
  const outside = { days: days.slice(1), values: round(levels.slice(0, -1), 4) };
  const { causes, reproduced } = explainCase({ terms: createThree(80), outside, decimals: 4, plants: [] });
  expect(causes.map(({ subject, manner, identifier }) => [subject, manner, identifier]).toSorted()).toEqual([
    ['calendar', 'late', null],
    ['currency', 'late', 'EURUSD'],
  ]);
  expect(reproduced).toBe(true);
});

test.each([1, 10, 45.8])('levels that continue from levels rounded at the scale %d are found', (scale) => {
  const terms = createRoundedIndex();
  const { days, levels } = evaluateTerms(terms);
  const values = Float64Array.from(levels, (level) => scale * level);
  values[0] = Math.round(100 * values[0]!) / 100;
  for (let t = 1; t < values.length; t++)
    values[t] = Math.round((100 * values[t - 1]! * levels[t]!) / levels[t - 1]!) / 100;
  const { causes, reproduced } = explainCase({ terms, outside: { days, values }, decimals: 2, plants: [] });
  expect(causes.map(({ subject, manner, date }) => [subject, manner, date])).toEqual([['rounding', 'value', null]]);
  expect(reproduced).toBe(true);
});

test('a ratio of a split that is thirty times that of the store is found', () => {
  const { days, levels } = evaluateTerms(createThree(60, { ratio: 3 }));
  const { causes, reproduced } = explainCase({
    terms: createThree(60, { ratio: 0.1 }),
    outside: { days, values: round(levels, 6) },
    decimals: 6,
    plants: [],
  });
  expect(causes.map(({ subject, identifier, value }) => [subject, identifier, value])).toEqual([['split', 'N00', 3]]);
  expect(reproduced).toBe(true);
});

test('a cause that explains the first session is not stated if a later cause explains it as well', () => {
  // The special dividend changes the divisor by 0.01 / 100 / 40 = 0.0000025, which a divisor with 5 decimals does not show.
  // A price ends the agreement of each rounding, and only the acquisition after it shows how the divisor is rounded.
  const terms = createRoundedIndex();
  const changed = evaluateTerms({
    ...withBars(terms, 'CLOSE', (panel, width) => {
      panel[20 * width + 2]! *= 100;
    }),
    documents: { X: IndexDocument.parse({ ...terms.documents['X'], rounding: { divisor: 5 } }) },
  });
  const decimals = 6;
  const { causes, reproduced } = explainCase({
    terms,
    outside: { days: changed.days, values: round(changed.levels, decimals) },
    decimals,
    plants: [],
  });
  expect(causes.map(({ subject, identifier, value }) => [subject, identifier, value])).toEqual([
    ['rounding', null, 5],
    ['price', 'N02', 100 * terms.market.fields.get('CLOSE')![20 * 40 + 2]!],
  ]);
  expect(reproduced).toBe(true);
});

test('a level that is nearly half a unit below an outside level agrees with it', () => {
  const outside = { days: Int32Array.of(0, 1), values: Float64Array.of(1013.21, 1013.21), decimals: 2 };
  const errors = listErrors({ days: outside.days, levels: Float64Array.of(1013.205000003, 1013.20499) }, outside, 1);
  expect([0, 1].map((t) => isEqualAt(errors, t, outside))).toEqual([true, false]);
});

test('the progress is between 0 and 1 and names sessions, and an error of its report ends the search', () => {
  const planted = createPlantedCase(1)!;
  const reports: (readonly [number, string])[] = [];
  explainCase(planted, (fraction, message) => void reports.push([fraction, message]));
  expect(reports.every(([fraction]) => fraction >= 0 && fraction <= 1)).toBe(true);
  expect(reports.some(([, message]) => /^explaining the session \d{4}-\d{2}-\d{2}$/.test(message))).toBe(true);
  for (const count of [2, Math.floor(reports.length / 2), reports.length]) {
    let calls = 0;
    const cancel = (): void => {
      if (++calls === count) throw new Error('cancelled');
    };
    expect(() => explainCase(planted, cancel)).toThrow('cancelled');
    expect(calls).toBe(count);
  }
});
