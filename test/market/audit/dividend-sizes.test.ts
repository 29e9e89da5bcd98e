import { expect, test } from 'vitest';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { applyRepairs, auditMarket } from '#market/judge/audit.js';
import type { MarketContent } from '#market/content/market-content.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const FIRST = 19_000;
const QUARTER = 63;

interface Payer {
  readonly price: number;
  /** Width of the uniform daily move. */
  readonly noise: number;
  /** Stated amount of each payment. */
  readonly stated: readonly number[];
  /** Fall of the price on each payment, if it differs from the stated amount. */
  readonly paid?: readonly number[];
  readonly every?: number;
  /** Factor of the price from the middle of the history on. It is declared as a split. */
  readonly consolidation?: number;
}

const createAction = (type: 'DIVIDEND' | 'SPLIT', row: number, value: number): CorporateAction => ({
  identifier: 'A',
  type,
  value,
  exDay: FIRST + row,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});

/**
 * Returns the warnings about the dividends of a security, with the proposed repairs. The price of the security falls by
 * the paid amounts.
 */
function listWarnings({ price, noise, stated, paid = stated, every = QUARTER, consolidation = 1 }: Payer) {
  const random = createCounterRandom({ seed: 11, stream: 3 });
  const sessions = (stated.length + 1) * every;
  const half = every * Math.floor(stated.length / 2) + Math.floor(every / 2);
  const close = allocateEmptyPanel(sessions);
  let last = price;
  for (let t = 0; t < sessions; t++) {
    const payment = t > 0 && t % every === 0 ? paid[t / every - 1]! : 0;
    last = (last - payment) * (1 + noise * (random.uniform() - 0.5)) * (t === half ? consolidation : 1);
    close[t] = last;
  }
  const { doubts: warnings } = auditMarket(
    {
      identifiers: ['A'],
      dates: Int32Array.from({ length: sessions }, (_, t) => FIRST + t),
      fields: new Map([['CLOSE', close]]),
      reference: { columns: [], rows: new Map() },
      actions: [
        ...stated.map((value, i) => createAction('DIVIDEND', (i + 1) * every, value)),
        ...(consolidation === 1 ? [] : [createAction('SPLIT', half, 1 / consolidation)]),
      ],
      universes: [],
    },
    'none',
    () => {},
  );
  return warnings
    .filter(({ kind }) => kind.startsWith('dividend'))
    .map(({ kind, date, repair }) => ({
      kind,
      row: Math.round(Date.parse(date) / 86_400_000) - FIRST,
      value: repair?.kind === 'replace_action' ? repair.value : repair?.kind,
    }));
}

test.each([
  ['0.26 on 480', { price: 480, noise: 0.03, stated: Array<number>(12).fill(0.26) }],
  ['0.04 on 480', { price: 480, noise: 0.08, stated: Array<number>(12).fill(0.04) }],
  ['0.02 on 150', { price: 150, noise: 0.04, stated: Array<number>(12).fill(0.02) }],
  ['0.02 on 150, twice', { price: 150, noise: 0.04, stated: [0.02, 0.02] }],
  ['1.2 on 400, then on 4000', { price: 400, noise: 0.03, stated: Array<number>(12).fill(1.2), consolidation: 10 }],
] satisfies readonly [string, Payer][])('a dividend similar to its neighbours is of the right size: %s', (_, payer) => {
  expect(listWarnings(payer)).toEqual([]);
});

test('a hundredth of its neighbours is flagged and corrected', () => {
  const statedAmounts = [0.5, 0.5, 0.5, 0.005, 0.5, 0.5];
  const paidAmounts = statedAmounts.map(() => 0.5);
  expect(listWarnings({ price: 50, noise: 0.02, stated: statedAmounts, paid: paidAmounts })).toEqual([
    { kind: 'dividend_size', row: 4 * QUARTER, value: 0.5 },
  ]);
});

test.each([
  [10, 6.5],
  [100, 65],
  [1000, 650],
])('a dividend that is %d times too large is replaced by its true amount, not removed', (_, wrong) => {
  const paid = Array<number>(6).fill(0.65);
  const stated = paid.map((value, i) => (i === 3 ? wrong : value));
  expect(listWarnings({ price: 40, noise: 0.02, stated, paid })).toEqual([
    { kind: 'dividend_size', row: 4 * QUARTER, value: 0.65 },
  ]);
});

test('a dividend that is ten times too large is replaced if it has a single neighbour or none', () => {
  expect(listWarnings({ price: 40.3, noise: 0.02, stated: [6.5, 0.65], paid: [0.65, 0.65] })).toEqual([
    { kind: 'dividend_size', row: QUARTER, value: 0.65 },
  ]);
  expect(listWarnings({ price: 40.3, noise: 0.005, stated: [6.5], paid: [0.65] })).toEqual([
    { kind: 'dividend_size', row: QUARTER, value: 0.65 },
  ]);
});

test('a dividend that is a tenth or a thousandth of its neighbours is corrected if the price fell by the larger amount', () => {
  const paid = Array<number>(6).fill(0.8);
  const state = (wrong: number) => paid.map((value, i) => (i === 3 ? wrong : value));
  for (const wrong of [0.08, 0.0008])
    expect(listWarnings({ price: 40, noise: 0.02, stated: state(wrong), paid })).toEqual([
      { kind: 'dividend_size', row: 4 * QUARTER, value: 0.8 },
    ]);
  expect(listWarnings({ price: 40, noise: 0.02, stated: state(0.08) })).toEqual([]);
});

test('a dividend that no power of ten explains and that the price does not show is removed', () => {
  const paid = [0.65, 0.65, 0.65, 0, 0.65, 0.65];
  expect(
    listWarnings({ price: 40, noise: 0.004, stated: paid.map((value, i) => (i === 3 ? 25 : value)), paid }),
  ).toEqual([{ kind: 'dividend_size', row: 4 * QUARTER, value: 'remove_action' }]);
});

test('dividends that are all a hundredth of the price fall are all flagged', () => {
  const statedAmounts = Array<number>(8).fill(0.01);
  const warnings = listWarnings({ price: 50, noise: 0.02, stated: statedAmounts, paid: statedAmounts.map(() => 1) });
  expect(warnings).toEqual(statedAmounts.map((_, i) => ({ kind: 'dividend_size', row: (i + 1) * QUARTER, value: 1 })));
});

test('a dividend whose hundredth does not fit the price fall has no repair, and one whose hundredth fits has that one', () => {
  const payer = { price: 56, noise: 0.005, stated: [8.3] };
  expect(listWarnings({ ...payer, paid: [4.1] })).toEqual([{ kind: 'dividend_size', row: QUARTER, value: undefined }]);
  expect(listWarnings({ ...payer, paid: [0.083] })).toEqual([{ kind: 'dividend_size', row: QUARTER, value: 0.083 }]);
});

test('an annual dividend that a rise hides once is of the right size when its neighbours are', () => {
  const statedAmounts = Array<number>(6).fill(2);
  const paidAmounts = statedAmounts.map((value, i) => (i === 3 ? -value : value));
  expect(listWarnings({ price: 50, noise: 0.02, stated: statedAmounts, paid: paidAmounts })).toEqual([]);
});

test('a dividend that is paid every week is no duplicate', () => {
  expect(listWarnings({ price: 50, noise: 0.02, stated: Array<number>(30).fill(0.1), every: 7 })).toEqual([]);
});

// The price of 40.3 falls by 0.65, the amount of every dividend.
const CLOSES = [
  40, 40.3, 40.1, 40.4, 40.2, 40.5, 40.3, 39.6, 39.8, 39.7, 40, 40.2, 40.1, 40.3, 40.2, 40.4, 40.3, 40.5, 39.9, 40.1,
  40.2, 40.4, 40.3, 40.5, 40.2, 40.1, 40, 40.3, 40.5, 40.4,
];

/** Returns all warnings about a security with these closes and the given actions, and the warnings after the repairs. */
function auditRepaired(close: readonly number[], actions: readonly CorporateAction[]) {
  const content: MarketContent = {
    identifiers: ['A'],
    dates: Int32Array.from(close, (_, t) => FIRST + t),
    fields: new Map([['CLOSE', allocateEmptyPanel(close.length).map((_, t) => close[t]!)]]),
    ...NO_TABLES,
    actions,
  };
  const { doubts } = auditMarket(content, 'none', () => {});
  const repaired = applyRepairs(
    content,
    doubts.flatMap(({ repair }) => repair ?? []),
  );
  return {
    repairs: doubts.map(({ kind, repair }) => [kind, repair?.kind]),
    actions: repaired.actions.map(({ type, value, exDay }) => [type, value, exDay - FIRST]),
    left: auditMarket(repaired, 'none', () => {}).doubts.map(({ kind }) => kind),
  };
}

test.each([6.5, 65, 650])('a dividend of %d instead of 0.65 has one repair, and no split is added to it', (wrong) => {
  const stated = [createAction('DIVIDEND', 7, wrong), createAction('DIVIDEND', 18, 0.65)];
  expect(auditRepaired(CLOSES, stated)).toEqual({
    repairs: [['dividend_size', 'replace_action']],
    actions: [
      ['DIVIDEND', 0.65, 7],
      ['DIVIDEND', 0.65, 18],
    ],
    left: [],
  });
});

test('a dividend without a repair of its size leads to no split where the price did not move', () => {
  const { repairs } = auditRepaired(CLOSES, [createAction('DIVIDEND', 7, 95), createAction('DIVIDEND', 18, 0.65)]);
  expect(repairs.filter(([kind]) => kind !== 'dividend_size')).toEqual([]);
});

test('a split that is missing in addition to a wrong dividend of another day is still added', () => {
  const close = CLOSES.map((price, t) => (t < 20 ? price : price / 2));
  const stated = [createAction('DIVIDEND', 7, 650), createAction('DIVIDEND', 18, 0.65)];
  expect(auditRepaired(close, stated).actions).toEqual([
    ['DIVIDEND', 0.65, 7],
    ['DIVIDEND', 0.65, 18],
    ['SPLIT', 2, 20],
  ]);
});

/** Returns the warnings about dividends by their row in `close`. */
function auditDividends(close: readonly number[], stated: Readonly<Record<number, number>>) {
  const { doubts } = auditMarket(
    {
      identifiers: ['A'],
      dates: Int32Array.from(close, (_, t) => FIRST + t),
      fields: new Map([['CLOSE', allocateEmptyPanel(close.length).map((_, t) => close[t]!)]]),
      ...NO_TABLES,
      actions: Object.entries(stated).map(([row, value]) => createAction('DIVIDEND', Number(row), value)),
    },
    'none',
    () => {},
  );
  return doubts.map(({ confidence, message, repair }) => ({
    amount: repair?.kind === 'replace_action' ? repair.value : repair?.kind,
    confidence,
    message,
  }));
}

test('without other dividends, the power of ten is a guess: the warning states it and names the other amounts', () => {
  // 40.3 to 39.6: 0.55 leaves -0.4 % (0.5 usual moves), 0.055 leaves -1.6 % (2.2 usual moves).
  expect(auditDividends(CLOSES, { 7: 5.5 })).toMatchObject([
    { amount: 0.55, confidence: 0.7, message: expect.stringContaining('0.55 is a guess') },
  ]);
  // A fall of 1.4 % among moves of 0.05 %: only a tenth of 5.5 explains it, but no other dividend confirms it.
  const quiet = CLOSES.map((_, t) => (t < 7 ? 40.3 : 39.75) + 0.01 * (t % 2));
  expect(auditDividends(quiet, { 7: 5.5 })).toMatchObject([{ amount: 0.55, confidence: 0.7 }]);
  // No visible fall: a hundredth and a thousandth explain it equally well.
  const flat = CLOSES.map((_, t) => 40.3 + 0.2 * (t % 2));
  expect(auditDividends(flat, { 7: 5.5 })).toMatchObject([
    { amount: 0.055, confidence: 0.7, message: expect.stringMatching(/0\.055 is a guess.*0\.0055 and 0\.55/) },
  ]);
  // 1,000 times 0.41: the yields of a tenth and of a hundredth are unusual, but 0.41 is still a guess.
  expect(auditDividends(CLOSES, { 7: 410 })).toMatchObject([{ amount: 0.41, confidence: 0.7 }]);
});

test('a removal is proposed with confidence only if the price excludes a usual dividend', () => {
  // 12 is no power of ten of 0.5. Without a dividend, the price moved by 0; with 0.5 it would have moved by 1.2 %.
  const noisy = CLOSES.map((price, t) => (t < 7 ? price : price + 0.7));
  expect(auditDividends(noisy, { 7: 12, 16: 0.5, 27: 0.5 })).toMatchObject([
    { amount: 'remove_action', confidence: 0.7 },
  ]);
  const quiet = CLOSES.map((_, t) => 40.3 + 0.01 * (t % 2) - (t < 16 ? 0 : 0.5) - (t < 27 ? 0 : 0.5));
  expect(auditDividends(quiet, { 7: 12, 16: 0.5, 27: 0.5 })).toMatchObject([
    { amount: 'remove_action', confidence: 0.95 },
  ]);
});
