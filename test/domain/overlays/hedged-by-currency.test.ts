import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { buildMarket } from '../backtest/market-builder.js';
import { run, createColumns } from '../backtest/random-run.js';
import { createClosesView } from '#views/closes.js';
import { addRates, createOverlayIndex } from './overlay-case.js';
import { createDocument } from '../index-document.js';

const dates = Array.from({ length: 60 }, (_, k) => new Date(Date.UTC(2023, 11, 27 + k)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10))
  .filter((date) => !['2024-01-15', '2024-02-05', '2024-02-06'].includes(date));
const days = dates.map(parseValidDay);
const createWave = (from: number, size: number, speed: number) =>
  dates.map((_, t) => from + size * Math.sin(speed * t));
const price = {
  A: createWave(50, 3, 0.3),
  B: createWave(20, 2, 0.7),
  C: createWave(300, 25, 0.2),
  D: createWave(8, 1, 0.5),
};
/** Exchange rates: dollars per pound and per euro. */
const spot = { GBP: createWave(1.25, 0.08, 0.25), EUR: createWave(1.1, 0.06, 0.4) };
const currency = { A: 'USD', B: 'EUR', C: 'GBX', D: 'GBP' };
const market = addRates(
  buildMarket({
    dates,
    close: { ...price, EURUSD: spot.EUR },
    reference: Object.fromEntries(Object.entries(currency).map(([name, of]) => [name, { CURRENCY: of }])),
  }),
);
const withPounds = new Map(market.series);
withPounds.set('GBPUSD', {
  ...market.series!.get('GBPUSD')!,
  days: Int32Array.from(days),
  closes: new Float64Array(spot.GBP),
});
const heldMarket = { ...market, series: withPounds };
const parentDocument = createDocument({
  base_date: dates[0],
  currency: 'USD',
  rebalance: { frequency: 'none' },
  universe: { kind: 'list', identifiers: ['A', 'B', 'C', 'D'] },
});
const computeLevels = (overlay: object, rest: object = {}) =>
  run(heldMarket, createOverlayIndex(overlay as { type: string }, { base_date: dates[0], currency: 'USD', ...rest }), {
    documents: { X: parentDocument },
  }).index.book.value;

/** Returns the last interest rate that is known on a session, in percent a year. `addRates` defines the rates. */
const readRateAt = (series: string, t: number): number => {
  const { days: seriesDays, closes } = market.series!.get(series)!;
  return closes[seriesDays.findLastIndex((day) => day <= days[t]!)]! / 100;
};
const extremeMatrix = ['2023-12-29', '2024-01-31', '2024-02-29'].map(parseValidDay);

/**
 * Returns the value of an account in dollars. It buys and holds a quarter of each security. Its forwards are in a
 * separate account.
 */
function computeHedgeAccount(adjust: 'monthly' | 'daily', ratios: Readonly<Record<'EUR' | 'GBP', number>>): number[] {
  const convertToDollars = (name: keyof typeof price, t: number): number => {
    const foreignRate = { USD: 1, EUR: spot.EUR[t]!, GBP: spot.GBP[t]!, GBX: spot.GBP[t]! / 100 }[currency[name]]!;
    return price[name][t]! * foreignRate;
  };
  const names = ['A', 'B', 'C', 'D'] as const;
  const computeWorth = (name: (typeof names)[number], t: number): number =>
    (25 * convertToDollars(name, t)) / convertToDollars(name, 0);
  const computeIndexValue = (t: number): number => names.reduce((sum, name) => sum + computeWorth(name, t), 0);
  const in_ = {
    EUR: (t: number) => computeWorth('B', t),
    GBP: (t: number) => computeWorth('C', t) + computeWorth('D', t),
  };
  const codes = ['EUR', 'GBP'] as const;
  let level = 100;
  const levels = [level];
  /** Units of the index that the overlay holds since the amounts of the forwards were set. */
  let units = level / computeIndexValue(0);
  let amounts = codes.map((code) => (ratios[code] * units * in_[code](0)) / spot[code][0]!);
  let strikeRow = 0;
  let gainedLevel = 0;
  for (let t = 1; t < dates.length; t++) {
    const end = extremeMatrix.find((day) => day > days[strikeRow]!)!;
    const computeMark = (code: 'EUR' | 'GBP', at: number): number => {
      const tenor = end - days[strikeRow]!;
      const domesticGrowth = 1 + (readRateAt('DOMESTIC', at) * tenor) / 360;
      const forward = (spot[code][at]! * domesticGrowth) / (1 + (readRateAt('FOREIGN', at) * tenor) / 360);
      const remainingShare = (end - days[at]!) / tenor;
      return spot[code][at]! * (1 - remainingShare) + forward * remainingShare;
    };
    codes.forEach((code, k) => (gainedLevel += amounts[k]! * (computeMark(code, t - 1) - computeMark(code, t))));
    level = units * computeIndexValue(t) + gainedLevel;
    levels.push(level);
    if (days[t] === end) strikeRow = t;
    if (days[t] !== end && adjust === 'monthly') continue;
    units = level / computeIndexValue(t);
    gainedLevel = 0;
    amounts = codes.map((code) => (ratios[code] * units * in_[code](t)) / spot[code][t]!);
  }
  return levels;
}

test.each(['monthly', 'daily'] as const)(
  'hedged %s by currencies, it is an account of indices and forwards sold',
  (adjust) => {
    const currencies = [
      { currency: 'EUR', rate: 'FOREIGN', ratio: 0.5 },
      { currency: 'GBP', rate: 'FOREIGN' },
    ];
    const overlay = { type: 'currency_hedged', to: 'USD', rates: { domestic: 'DOMESTIC' }, currencies, adjust };
    const levels = computeLevels(overlay);
    const expected = computeHedgeAccount(adjust, { EUR: 0.5, GBP: 1 });
    levels.forEach((level, t) => expect(Math.abs(level / expected[t]! - 1)).toBeLessThan(1e-12));
    expect(Math.abs(levels.at(-1)! / computeLevels({ type: 'currency', to: 'USD' }).at(-1)! - 1)).toBeGreaterThan(1e-3);
  },
);

test('hedged by every currency at ratio 0, it is the index converted', () => {
  const currencies = ['EUR', 'USD'].map((code) => ({ currency: code, rate: 'FOREIGN', ratio: 0 }));
  const overlay = { type: 'currency_hedged', to: 'GBP', rates: { domestic: 'DOMESTIC' }, currencies };
  const convertedLevels = computeLevels({ type: 'currency', to: 'GBP' }, { currency: 'GBP' });
  computeLevels(overlay, { currency: 'GBP' }).forEach((level, t) =>
    expect(level / convertedLevels[t]!).toBeCloseTo(1, 12),
  );
});

const hedgedOverlay = {
  type: 'currency_hedged',
  to: 'USD',
  rates: { domestic: 'DOMESTIC' },
  currencies: [
    { currency: 'EUR', rate: 'FOREIGN' },
    { currency: 'GBP', rate: 'FOREIGN', ratio: 0.5 },
  ],
};
const publishes = (overlay: object, market_: typeof heldMarket, dividends: string) => {
  const parent = { ...parentDocument.pipeline, treatment: { dividends, reinvestment: 'constituent' } };
  const document = createOverlayIndex(overlay as { type: string }, { base_date: dates[0], currency: 'USD' });
  const documents = { X: IndexDocument.parse({ ...parentDocument, pipeline: parent }) };
  return createClosesView(createColumns(run(market_, document, { documents })));
};

test('an overlay publishes the same bits whichever return variant an index names that reinvests in its constituents', () => {
  const paid = buildMarket({
    dates,
    close: { ...price, EURUSD: spot.EUR },
    reference: Object.fromEntries(Object.entries(currency).map(([name, of]) => [name, { CURRENCY: of }])),
    actions: [
      { name: 'B', type: 'DIVIDEND', value: 4, ex: dates[3]! },
      { name: 'A', type: 'DIVIDEND', value: 6, ex: dates[25]! },
    ],
  });
  const payingMarket = { ...paid, series: heldMarket.series };
  const blend = { type: 'blend', parts: [{ index_id: 'X', weight: 1 }], rebalance: { frequency: 'weekly' } };
  for (const overlay of [
    hedgedOverlay,
    { ...hedgedOverlay, adjust: 'daily' },
    { type: 'leverage', factor: -1 },
    blend,
  ]) {
    const [first, ...others] = ['price', 'total', 'net'].map((dividends) =>
      publishes(overlay, payingMarket, dividends),
    );
    for (const closes of others) expect(closes).toEqual(first);
  }
});

test('the published weights of a leverage of 2 are twice those of the price return of the underlying index', () => {
  // A: 64, then 48 after a dividend of 16. B: 64, then 80. Price return 1, weights 3/8 and 5/8; those of the total
  // return are 4/9 and 5/9.
  const market_ = buildMarket({
    dates: dates.slice(0, 2),
    close: { A: [64, 48], B: [64, 80] },
    actions: [{ name: 'A', type: 'DIVIDEND', value: 16, ex: dates[1]! }],
  });
  const closes = publishes({ type: 'leverage', factor: 2 }, market_ as typeof heldMarket, 'total');
  expect([closes.price[1], closes.total[1]]).toEqual([100, 125]);
  expect(closes.composition_hash[1]).toBe(createHash('sha256').update('{"A":0.75,"B":1.25}').digest('hex'));
});
