import { expect, test } from 'vitest';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import type { Membership } from '#domain/market/market-data.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { listConventions } from '#domain/studies/difference-conventions.js';
import { isOfSeveral } from '#domain/studies/difference-starts.js';
import { type CandidateTerms, evaluateTerms } from '#domain/studies/difference-terms.js';
import { findDecimals, readFloat32 } from '#domain/studies/outside-levels.js';
import { seeded } from '../../seeded.js';
import { type ActionSketch, buildMarket } from '../backtest/market-builder.js';
import { applyChanges, CALENDARS, explainCase, round, withDocument } from './planted-differences.js';

const DATES: string[] = [];
for (let day = parseValidDay('2020-01-02'); DATES.length < 420; day++)
  if (toWeekday(day) < 5) DATES.push(formatDay(day));
const NAMES = Array.from({ length: 12 }, (_, k) => `N${String(k).padStart(2, '0')}`);

/** Price of each security without events: about 100, with moves of about 1 %, in whole cents. */
const PRICES = (() => {
  const next = seeded(11);
  return NAMES.map(() => {
    let price = 100;
    return DATES.map(() => (price = Math.round(price * (1 + 0.01 * next()) * 100) / 100));
  });
})();

/** Returns prices after payments and splits of some sessions: a later price is divided by the ratio, or falls by the amount. */
const tradeAfter = (changes: readonly { name: string; at: number; ratio?: number; amount?: number }[]) =>
  Object.fromEntries(
    NAMES.map((name, k) => [
      name,
      PRICES[k]!.map((price, t) => {
        const past = changes.filter((one) => one.name === name && t >= one.at);
        const traded = past.reduce((value, { ratio = 1, amount = 0 }) => value / ratio - amount, price);
        return Math.round(traded * 100) / 100;
      }),
    ]),
  );

interface Sketch {
  readonly close: Readonly<Record<string, readonly (number | null)[]>>;
  readonly actions: readonly ActionSketch[];
  readonly treatment?: 'price' | 'total';
  readonly universe?: readonly Membership[];
}

const createTerms = (
  { close, actions, treatment = 'price', universe = [] }: Sketch,
  baseValue = 1000,
): CandidateTerms => ({
  market: buildMarket({
    dates: DATES,
    close,
    actions,
    reference: Object.fromEntries(Object.keys(close).map((name) => [name, { CURRENCY: 'USD' }])),
    universes: universe,
  }),
  documents: {
    X: IndexDocument.parse({
      id: 'X',
      name: 'X',
      calendar: 'MAIN',
      base_date: DATES[1],
      base_value: baseValue,
      universe: { kind: 'list', identifiers: NAMES },
      rebalance: { frequency: 'none' },
      pipeline: { treatment: { dividends: treatment }, weighting: { type: 'PriceWeight' } },
    }),
  },
  indexId: 'X',
  variant: treatment,
  calendars: CALENDARS,
  createDecider: indexDecider,
  end: parseValidDay(DATES.at(-1)!),
  reading: [],
});

/** Explains levels with 2 decimals of an index whose store has further events. */
function explainMissing(sketch: Sketch, missing: ActionSketch, change: (values: Float64Array) => void = () => {}) {
  const { days, levels } = evaluateTerms(createTerms({ ...sketch, actions: [...sketch.actions, missing] }));
  const outside = { days, values: round(levels, 2) };
  change(outside.values);
  return explainCase({ terms: createTerms(sketch), outside, decimals: 2, plants: [] });
}

const toName = ({ subject, manner, identifier, date, value }: ReturnType<typeof explainMissing>['causes'][number]) => [
  subject,
  manner,
  identifier,
  date,
  value,
];

test.each([
  ['a split of 4 for 1', 4],
  ['a reverse split of 1 for 10', 0.1],
])('%s that the store lacks is named by the move of the price', (_, value) => {
  const close = tradeAfter([{ name: 'N03', at: 90, ratio: value }]);
  const { causes, reproduced } = explainMissing(
    { close, actions: [] },
    { name: 'N03', type: 'SPLIT', value, ex: DATES[90]! },
  );
  expect(causes.map(toName)).toEqual([['split', 'added', 'N03', DATES[90], value]]);
  expect(reproduced).toBe(true);
});

test('a payment that the store lacks is named by the fall of the price, although any security could have paid it', () => {
  const close = tradeAfter([{ name: 'N05', at: 100, amount: 8.25 }]);
  const { causes, reproduced } = explainMissing(
    { close, actions: [] },
    { name: 'N05', type: 'SPECIAL_DIVIDEND', value: 8.25, ex: DATES[100]! },
  );
  expect(causes.map(toName)).toEqual([['special_dividend', 'added', 'N05', DATES[100], 8.25]]);
  expect(causes[0]!.ties).toEqual([]);
  expect(causes[0]!.sentence).toContain('that the store lacks');
  expect(reproduced).toBe(true);
});

test('a single wrong level of the outside series is listed, and does not hide a payment before it', () => {
  const { causes, sessions } = explainMissing(
    { close: tradeAfter([{ name: 'N05', at: 100, amount: 8.25 }]), actions: [] },
    { name: 'N05', type: 'SPECIAL_DIVIDEND', value: 8.25, ex: DATES[100]! },
    (values) => {
      values[129] = values[129]! + 4; // the levels begin with the session 1
    },
  );
  expect(causes.map(toName)).toEqual([['special_dividend', 'added', 'N05', DATES[100], 8.25]]);
  expect(sessions.unexplained).toMatchObject([
    { date: DATES[130], single: true, sentence: expect.stringContaining('agree again on the next session') },
  ]);
});

test.each([
  [
    [130, 131],
    [true, true],
  ],
  [
    [130, 131, 132],
    [undefined, undefined, undefined],
  ],
])('two wrong levels in a row are errors of their sessions, and three are not: %j', (wrong, single) => {
  const sketch: Sketch = { close: tradeAfter([]), actions: [] };
  const { days, levels } = evaluateTerms(createTerms(sketch));
  const values = levels.map((level, t) => level + (wrong.includes(t) ? 0.07 * (t - 128) : 0));
  const outside = { days, values: round(values, 2) };
  const { causes, sessions } = explainCase({ terms: createTerms(sketch), outside, decimals: 2, plants: [] });
  expect(causes).toEqual([]);
  expect(sessions.unexplained.map((one) => one.date)).toEqual(wrong.map((t) => formatDay(days[t]!)));
  expect(sessions.unexplained.map((one) => one.single)).toEqual(single);
  const again = `agree again on ${formatDay(days[132]!)}`;
  expect(sessions.unexplained[0]!.sentence!.includes(again)).toBe(single[0] === true);
});

test('a spin-off that the store lacks is named by a new security and the fall of its parent', () => {
  const next = seeded(12);
  const child = DATES.map((_, t) => (t < 100 ? null : Math.round(4000 + 100 * next()) / 100));
  const close = { ...tradeAfter([{ name: 'N05', at: 100, amount: 8 }]), SPUN: child };
  const { causes, reproduced } = explainMissing(
    { close, actions: [] },
    { name: 'N05', type: 'SPIN_OFF', value: 0.2, ex: DATES[100]!, related: 'SPUN' },
  );
  expect(causes.map(toName)).toEqual([['spin_off', 'added', 'N05', DATES[100], 0.2]]);
  expect(causes[0]!.change.data.map(({ value }) => value)).toMatchObject([{ related: 'SPUN', value: 0.2 }]);
  expect(reproduced).toBe(true);
});

test('a payment without a fall of a price has no reason in the market and is not named', () => {
  const { causes, sessions } = explainMissing(
    { close: tradeAfter([]), actions: [] },
    { name: 'N05', type: 'SPECIAL_DIVIDEND', value: 2.37, ex: DATES[100]! },
  );
  expect(causes).toEqual([]);
  // The level does not return: it is a step, and no error of one session.
  const step = sessions.unexplained.find(({ date }) => date === DATES[100])!;
  expect(step).not.toHaveProperty('single');
  expect(step.sentence).toContain('the new level');
});

test('the dividend that a quarterly payer lacks is named, because its other dividends show when it is due', () => {
  const pay = (name: string, first: number): ActionSketch[] =>
    Array.from({ length: 6 }, (_, k) => ({ name, type: 'DIVIDEND', value: 0.5, ex: DATES[first + 64 * k]! }));
  const paid = [...pay('N02', 20), ...pay('N07', 35)];
  const missing = paid[3]!; // of N02, on the session 212
  const { causes, reproduced } = explainMissing(
    { close: tradeAfter([]), actions: paid.filter((one) => one !== missing), treatment: 'total' },
    missing,
  );
  expect(causes.map(toName)).toEqual([['dividend', 'added', 'N02', DATES[212], 0.5]]);
  expect(reproduced).toBe(true);
});

test('levels that begin with a rounded level have a fitted scale, and no difference', () => {
  // A level of 17067.5641 is published as 17067.56, from which the run begins: later levels differ by one hundredth.
  const sketch: Sketch = { close: tradeAfter([]), actions: [] };
  const { days, levels } = evaluateTerms(createTerms(sketch, 17067.5641));
  const outside = { days, values: round(levels, 2) };
  const { causes, sessions, scale, shapes, reproduced } = explainCase({
    terms: createTerms(sketch, 17067.56),
    outside,
    decimals: 2,
    plants: [],
  });
  expect([causes, sessions.unexplained, reproduced]).toEqual([[], [], true]);
  expect(Math.abs(scale - 17067.5641 / 17067.56)).toBeLessThan(1e-7);
  expect(shapes).not.toContain('factor');
});

test('a scale is fitted although the second level is wrong and later levels have a step', () => {
  const sketch: Sketch = { close: tradeAfter([]), actions: [] };
  const { days, levels } = evaluateTerms(createTerms(sketch, 17067.5641));
  const values = levels.map((level, t) => level * (t < 150 ? 1 : 1.0234567) + (t === 1 ? 0.07 : 0));
  const outside = { days, values: round(values, 2) };
  const { sessions, scale } = explainCase({ terms: createTerms(sketch, 17067.56), outside, decimals: 2, plants: [] });
  expect(sessions.unexplained.map(({ date }) => date)).toEqual([days[1]!, days[150]!].map(formatDay));
  expect(Math.abs(scale - 17067.5641 / 17067.56)).toBeLessThan(1e-7);
});

test('numbers of float32 that are written with more digits are read with the digits that they have', () => {
  // The float32 numbers nearest to 17949.37, 17929.99 and 9999.94 are 17949.369140625, 17929.990234375 and 9999.9404296875.
  const read = readFloat32(Float64Array.of(17949.36914, 17929.99023, 9999.94043));
  expect([...read]).toEqual([17949.37, 17929.99, 9999.94]);
  expect(findDecimals(read)).toBe(2);
  const exact = Float64Array.of(17949.36914, 17929.99124, 9999.94043); // the second is no float32 number
  expect(readFloat32(exact)).toBe(exact);
  const short = Float64Array.of(101.25, 102.5);
  expect(readFloat32(short)).toBe(short);
});

test('a constituent that the outside level replaced at a review, on the session of a split that the store lacks', () => {
  const close = tradeAfter([{ name: 'N03', at: 101, ratio: 2 }]);
  const split: ActionSketch = { name: 'N03', type: 'SPLIT', value: 2, ex: DATES[101]! };
  const hold = (actions: readonly ActionSketch[], from: number, start: number): CandidateTerms => {
    const terms = createTerms({ close, actions });
    const document = terms.documents['X']!;
    const identifiers = NAMES.slice(0, 10);
    return {
      ...terms,
      documents: {
        X: IndexDocument.parse({
          ...document,
          rebalance: { frequency: 'custom', dates: [DATES[100]] },
          universe: { kind: 'list', identifiers },
          amendments: [
            { effective_from: DATES[from], changes: { universe: { identifiers: NAMES.slice(start, start + 10) } } },
          ],
        }),
      },
    };
  };
  const { days, levels } = evaluateTerms(hold([split], 100, 1));
  const outside = { days, values: round(levels, 2) };
  const terms = hold([], 100, 0);
  const { causes, steps, remaining, reproduced } = explainCase({ terms, outside, decimals: 2, plants: [] });
  expect(causes.map(toName).toSorted()).toEqual([
    ['constituent', 'added', 'N10', DATES[100], null],
    ['constituent', 'ignored', 'N00', DATES[100], null],
    ['split', 'added', 'N03', DATES[101], 2],
  ]);
  expect(reproduced).toBe(true);
  // The replacement is one step. Its effect is that of both changes: the other list, without the split.
  const last = (own: CandidateTerms): number => evaluateTerms(own).levels.at(-1)!;
  const effect = (last(hold([], 100, 1)) / last(terms) - 1) * 10_000;
  expect(steps!.map(({ sentence }) => sentence)).toEqual([
    `The outside level held N10 instead of N00 from ${DATES[100]}.`,
    `The outside level counted a split of N03 that the store lacks on ${DATES[101]} (ratio 2).`,
  ]);
  expect(steps![0]!.effect_bps).toBeCloseTo(effect, 6);
  expect(steps!.map((step) => step.causes)).toEqual([[0, 1], [2]]);
  // Without the replacement, no session from the one after the review on agrees.
  expect(steps![0]!.sessions).toBe(days.length - 100);
  // Both changes of the review are one amendment: a document has one of a date, and can be stored.
  const changed = applyChanges(terms, causes).documents['X']!;
  expect(changed.amendments!.map(({ effective_from: from }) => from)).toEqual([DATES[100]]);
  expect(changed.amendments![0]!.changes['universe']).toMatchObject({ identifiers: NAMES.slice(1, 11) });
  // The rest after the replacement is the split, within its interaction with the replacement.
  const apart = evaluateTerms(hold([], 100, 1)).levels;
  const at = remaining.dates.indexOf(DATES[300]!);
  expect(remaining.bps[2]![at]! / ((levels[299]! / apart[299]! - 1) * 10_000)).toBeCloseTo(1, 1);
});

/** Returns an index of ten members by date, in which one is replaced at a review and stays so at the next ones. */
function createDated(isReplaced: boolean): CandidateTerms {
  const day = parseValidDay(DATES[100]!);
  const universe = NAMES.slice(0, isReplaced ? 11 : 10).map((identifier, k) => ({
    universe: 'U',
    identifier,
    start: k === 10 ? day : null,
    end: isReplaced && k === 0 ? day : null,
  }));
  const terms = createTerms({ close: tradeAfter([]), actions: [], universe });
  const document = IndexDocument.parse({
    ...terms.documents['X']!,
    rebalance: { frequency: 'custom', dates: [DATES[100], DATES[200], DATES[300]] },
    universe: { kind: 'named', id: 'U' },
  });
  return { ...terms, documents: { X: document } };
}

test('a constituent of a dated universe that the outside level replaced for all later reviews is named once', () => {
  const { days, levels } = evaluateTerms(createDated(true));
  const outside = { days, values: round(levels, 2) };
  const { causes, reproduced, sessions } = explainCase({
    terms: createDated(false),
    outside,
    decimals: 2,
    plants: [],
  });
  expect(causes.map(toName).toSorted()).toEqual([
    ['constituent', 'added', 'N10', DATES[100], null],
    ['constituent', 'ignored', 'N00', DATES[100], null],
  ]);
  expect(causes.map(({ through }) => through)).toEqual([null, null]);
  expect(sessions.unexplained).toEqual([]);
  expect(reproduced).toBe(true);
});

test('wrong levels before and after a replacement do not hide it', () => {
  const { days, levels } = evaluateTerms(createDated(true));
  const outside = { days, values: round(levels, 2) };
  for (const at of [60, 110]) outside.values[at] = outside.values[at]! + 0.03;
  const { causes, sessions } = explainCase({ terms: createDated(false), outside, decimals: 2, plants: [] });
  expect(causes.map(({ manner, identifier }) => `${manner} ${identifier}`).toSorted()).toEqual([
    'added N10',
    'ignored N00',
  ]);
  expect(sessions.unexplained.map(({ date }) => date)).toEqual([DATES[61], DATES[111]]);
});

/** Explains the levels of the total return with 2 decimals, whose run has other events than the store. */
function explainOthers(
  own: readonly ActionSketch[],
  others: readonly ActionSketch[],
  { baseValue = 1000, change = () => {} }: { baseValue?: number; change?: (values: Float64Array) => void } = {},
) {
  const create = (actions: readonly ActionSketch[]): CandidateTerms =>
    createTerms({ close: tradeAfter([]), actions, treatment: 'total' }, baseValue);
  const { days, levels } = evaluateTerms(create(others));
  const outside = { days, values: round(levels, 2) };
  change(outside.values);
  return explainCase({ terms: create(own), outside, decimals: 2, plants: [] });
}

const createDividend = (at: number, value: number): ActionSketch => ({
  name: 'N03',
  type: 'DIVIDEND',
  value,
  ex: DATES[at]!,
});

test.each([0.01, 0.1, 10, 100])(
  'a dividend times %s is one cause, not an event that is moved and corrected',
  (factor) => {
    const value = Number((0.64 * factor).toFixed(4));
    const { causes, reproduced } = explainOthers([createDividend(100, 0.64)], [createDividend(100, value)]);
    expect(causes.map(toName)).toEqual([['dividend', 'value', 'N03', DATES[100], value]]);
    expect(reproduced).toBe(true);
  },
);

test.each([
  ['late', 100],
  ['before few levels determine the scale', 12],
])('an amount with more decimals than usual is found from all later levels: %s', (_, at) => {
  const { causes, reproduced } = explainOthers([createDividend(at, 0.59)], [createDividend(at, 0.7375)]);
  expect(causes.map(toName)).toEqual([['dividend', 'value', 'N03', DATES[at], 0.7375]]);
  expect(reproduced).toBe(true);
});

test('one of several dividends within the rounding of the levels is not named next to a wrong level', () => {
  const small = NAMES.slice(0, 8).map((name, k): ActionSketch => ({ ...createDividend(405, 0.036 + k / 500), name }));
  const others = small.filter(({ name }) => name !== 'N03');
  const change = (values: Float64Array): void => void (values[80]! += 0.5);
  expect(explainOthers(small, others, { baseValue: 100 }).reproduced).toBe(true);
  expect(explainOthers(small, others, { baseValue: 100, change }).causes).toEqual([]);
});

test('a payment is named where the security falls by more than four standard deviations, also against their median', () => {
  const close = tradeAfter([{ name: 'N05', at: 100, amount: 2.1 }]);
  const { causes, reproduced } = explainMissing(
    { close, actions: [] },
    { name: 'N05', type: 'SPECIAL_DIVIDEND', value: 2.1, ex: DATES[100]! },
  );
  expect(causes.map(toName)).toEqual([['special_dividend', 'added', 'N05', DATES[100], 2.1]]);
  expect(reproduced).toBe(true);
});

test('a convention of events is supported by more events than are against it', () => {
  const splits = [60, 100, 300].map((at, k): ActionSketch => ({
    name: NAMES[k]!,
    type: 'SPLIT',
    value: 2,
    ex: DATES[at]!,
  }));
  const own = evaluateTerms(createTerms({ close: tradeAfter([]), actions: splits }));
  const [candidate] = listConventions({
    own,
    session: own.rule.sm.sessionAt(parseValidDay(DATES[100]!)),
    begin: 1,
  }).filter(({ subject }) => subject === 'split');
  const measure = (...signs: readonly number[]): boolean => {
    const moves = new Float64Array(own.days.length);
    signs.forEach((sign, k) => (moves[own.days.indexOf(parseValidDay(splits[k]!.ex))] = 9 * sign));
    const outside = { days: own.days, values: own.levels, decimals: 2 };
    return isOfSeveral(own, candidate!, { moves, outside });
  };
  expect(measure(0, 1, 0)).toBe(false);
  expect(measure(0, 1, 1)).toBe(true);
  expect(measure(-1, 1, 1)).toBe(false);
  expect(measure(1, 1, 1)).toBe(true);
});

test('a convention that many reviews support is named although a later step has no explanation', () => {
  const create = (weightsAs: string): CandidateTerms =>
    withDocument(createTerms({ close: tradeAfter([]), actions: [] }), 'X', (own) => ({
      ...own,
      rebalance: { frequency: 'monthly', anchor: 'first_session', effective_lag: 1, weights_as: weightsAs },
      pipeline: { ...own.pipeline, weighting: { type: 'EqualWeight' } },
    }));
  const { days, levels } = evaluateTerms(create('weights'));
  const at = days.indexOf(parseValidDay(DATES[270]!));
  const values = round(
    levels.map((level, t) => (t < at ? level : 1.00137 * level)),
    8,
  );
  const { causes, sessions } = explainCase({
    terms: create('shares'),
    outside: { days: days.subarray(0, 290), values: values.subarray(0, 290) },
    decimals: 8,
    plants: [],
  });
  expect(causes.map(({ subject, manner }) => [subject, manner])).toEqual([['pricing', 'value']]);
  expect(sessions.unexplained.map(({ date }) => date)).toEqual([DATES[270]]);
});
