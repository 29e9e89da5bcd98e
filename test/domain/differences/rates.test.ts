import { expect, test } from 'vitest';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { type CandidateTerms, evaluateChanged, evaluateTerms, findWindow } from '#domain/studies/difference-terms.js';
import { seeded } from '../../seeded.js';
import { type ActionSketch, buildMarket } from '../backtest/market-builder.js';
import { CALENDARS, explainCase, round } from './planted-differences.js';

const NAMES = Array.from({ length: 8 }, (_, k) => `N${k}`);

const DATES: string[] = [];
for (let day = parseValidDay('2020-01-02'); DATES.length < 250; day++)
  if (toWeekday(day) < 5) DATES.push(formatDay(day));

interface Sketch {
  readonly actions?: readonly ActionSketch[];
  /** Position of the first session on which N3 has no price any more. */
  readonly end?: number;
  readonly overlay?: Readonly<Record<string, unknown>>;
}

/** Returns an index of eight securities by prices that begins at 10,000, or the index after an overlay of it. */
function createIndex({ actions = [], end = Infinity, overlay }: Sketch = {}): CandidateTerms {
  const next = seeded(11);
  const close = Object.fromEntries(
    NAMES.map((name) => {
      let price = 100;
      const prices = DATES.map(() => (price = Math.round(price * (1 + 0.02 * (next() - 0.5)) * 100) / 100));
      return [name, prices.map((one, t) => (name === 'N3' && t >= end ? null : one))];
    }),
  );
  const shared = { name: 'X', calendar: 'MAIN', base_date: DATES[1], base_value: 10_000 };
  const document = IndexDocument.parse({
    ...shared,
    id: 'X',
    universe: { kind: 'list', identifiers: NAMES },
    rebalance: { frequency: 'none' },
    pipeline: { treatment: { dividends: 'price' }, weighting: { type: 'PriceWeight' } },
  });
  const above = overlay && {
    O: IndexDocument.parse({ ...shared, id: 'O', kind: 'overlay', source_index_id: 'X', overlay }),
  };
  return {
    market: buildMarket({
      dates: DATES,
      close,
      actions,
      reference: Object.fromEntries(NAMES.map((name) => [name, { CURRENCY: 'USD' }])),
    }),
    documents: { X: document, ...above },
    indexId: overlay ? 'O' : 'X',
    variant: 'price',
    calendars: CALENDARS,
    createDecider: indexDecider,
    end: parseValidDay(DATES.at(-1)!),
    reading: [],
  };
}

/** Explains levels with 2 decimals, some of which are wrong by 0.4 %. */
function explain(terms: CandidateTerms, levels: Float64Array, wrong: readonly number[] = []) {
  const { days } = evaluateTerms(terms);
  const values = round(
    levels.map((level, t) => (wrong.includes(t) ? 1.004 * level : level)),
    2,
  );
  const { causes, sessions } = explainCase({ terms, outside: { days, values }, decimals: 2, plants: [] });
  return {
    causes: causes.map(({ subject, manner, value, change }) => [subject, manner, value, change.rounding]),
    unexplained: sessions.unexplained.map(({ date }) => date),
  };
}

test.each([[[]], [[120]], [[40, 80, 120, 160, 200]]])(
  'a fee on rounded levels is found at its short rate, and only wrong levels %j are unexplained',
  (wrong) => {
    // Outside: the level with 2 decimals, times 0.9965 to the power of the years of 365 days, again with 2 decimals.
    const terms = createIndex();
    const { days, levels } = evaluateTerms(terms);
    const values = round(levels, 2).map((level, t) => level * 0.9965 ** ((days[t]! - days[0]!) / 365));
    const { causes, unexplained } = explain(terms, values, wrong);
    expect(causes).toEqual([
      ['rounding', 'value', 2, { rounded_level: 2 }],
      ['fee', 'added', 0.0035, { fee_percent: 0.35, fee_basis: 365 }],
    ]);
    expect(unexplained).toEqual(wrong.map((t) => formatDay(days[t]!)));
  },
);

test('a fee in proportion to days, on levels that continue from the rounded previous one, is found next to a wrong level', () => {
  const terms = createIndex();
  const { days, levels } = evaluateTerms(terms);
  const values = levels.slice();
  for (let t = 1; t < values.length; t++) {
    const grown = values[t - 1]! * (levels[t]! / levels[t - 1]!) * (1 - (0.01 * (days[t]! - days[t - 1]!)) / 365);
    values[t] = Math.round(grown * 100) / 100;
  }
  const { causes, unexplained } = explain(terms, values, [120]);
  expect(causes).toEqual([
    ['fee', 'added', 0.01, { fee_percent: 1, fee_basis: 365, fee_method: 'arithmetic' }],
    ['rounding', 'value', 2, { chained_level: 2 }],
  ]);
  expect(unexplained).toEqual([formatDay(days[120]!)]);
});

test('a wrong level does not hide another day count of a fee', () => {
  const fee = { type: 'fee', percent: 3, basis: 360 };
  const { levels, days } = evaluateTerms(createIndex({ overlay: { ...fee, basis: 365 } }));
  const { causes, unexplained } = explain(createIndex({ overlay: fee }), levels, [200]);
  expect(causes).toEqual([['day_count', 'value', 365, null]]);
  expect(unexplained).toEqual([formatDay(days[200]!)]);
});

test('a change with which a store has no ending of a security is run as a whole, because the default of securities without a price is another', () => {
  const actions: ActionSketch[] = [{ name: 'N3', type: 'ACQUISITION', value: 100, ex: DATES[100]! }];
  const terms = createIndex({ actions, end: 100 });
  const own = evaluateTerms(terms);
  const edits = [{ kind: 'action', before: terms.market.actions[0]!, after: null }] as const;
  expect(findWindow(own, 90)!.run(edits, 120)).toBeNull();
  expect(findWindow(own, 90)!.complete(edits)).toBeNull();
  // Without the acquisition the security leaves at the close of its fifth session without a price, at its last one.
  const { levels } = evaluateChanged(own, edits);
  const close = terms.market.fields.get('CLOSE')!;
  const sum = (t: number): number =>
    NAMES.reduce((all, name, k) => all + (name === 'N3' ? 0 : close[t * NAMES.length + k]!), 0);
  const last = close[99 * NAMES.length + 3]!;
  // The first level is of the second date.
  expect(levels[103]! / levels[98]!).toBeCloseTo((sum(104) + last) / (sum(99) + last), 12);
  expect(levels[119]! / levels[103]!).toBeCloseTo(sum(120) / sum(104), 12);
});
