import { describe, expect, test } from 'vitest';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { formatDay } from '#domain/base/time.js';
import { applyRepairs, auditMarket } from '#market/judge/audit.js';
import type { MarketContent } from '#market/content/market-content.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const FIRST = 19_000;

/** Returns a market with one security A of daily closes on consecutive days. */
const createMarket = (closes: readonly number[]): MarketContent => ({
  identifiers: ['A'],
  dates: Int32Array.from(closes, (_, t) => FIRST + t),
  fields: new Map([
    ['OPEN', Float64Array.from(closes)],
    ['CLOSE', Float64Array.from(closes)],
  ]),
  ...NO_TABLES,
});

/** Returns prices with daily moves of up to `size` in either direction, rounded to cents. */
function drawPrices(count: number, size: number, seed = 5): number[] {
  const random = createCounterRandom({ seed, stream: 0 });
  let price = 68;
  return Array.from({ length: count }, () => {
    price *= 1 + 2 * size * (random.uniform() - 0.5);
    return Math.round(price * 100) / 100;
  });
}

const scale = (closes: readonly number[], from: number, to: number, factor: number) =>
  closes.map((close, t) => (t >= from && t < to ? Number((close * factor).toPrecision(12)) : close));

const audit = (closes: readonly number[]) => auditMarket(createMarket(closes), 'none', () => {}).doubts;

function repair(closes: readonly number[], confidence = 0.9): number[] {
  const repairs = audit(closes).flatMap((doubt) =>
    doubt.confidence >= confidence && doubt.repair !== null ? [doubt.repair] : [],
  );
  return [...applyRepairs(createMarket(closes), repairs).fields.get('CLOSE')!];
}

describe('closes in another unit', () => {
  test.each([0.01, 100, 0.001, 1000])('are restored by one repair per block, scaled by %d', (factor) => {
    const closes = drawPrices(300, 0.01);
    for (const [from, to] of [
      [100, 101],
      [100, 105],
      [100, 106],
      [100, 112],
      [100, 199],
      [3, 60],
      [240, 297],
    ] as const) {
      const spoiled = scale(closes, from, to, factor);
      expect(audit(spoiled), `${from} to ${to}`).toMatchObject([
        {
          kind: 'currency_flip',
          date: formatDay(FIRST + from),
          repair: { kind: 'scale', from: formatDay(FIRST + from), to: formatDay(FIRST + to - 1) },
        },
      ]);
      expect(repair(spoiled), `${from} to ${to}`).toEqual(closes);
    }
  });

  test('are restored at the beginning, in the middle and at the end of one history', () => {
    const closes = drawPrices(300, 0.01);
    const spoiled = scale(scale(scale(closes, 0, 20, 0.01), 100, 130, 0.01), 290, 300, 0.01);
    expect(audit(spoiled).map(({ repair: change }) => change)).toMatchObject([
      { from: formatDay(FIRST), to: formatDay(FIRST + 19), factor: 100 },
      { from: formatDay(FIRST + 100), to: formatDay(FIRST + 129), factor: 100 },
      { from: formatDay(FIRST + 290), to: formatDay(FIRST + 299), factor: 100 },
    ]);
    expect(repair(spoiled)).toEqual(closes);
  });

  test('are restored if correct closes separate two blocks for less than a week', () => {
    const closes = drawPrices(300, 0.01);
    expect(repair(scale(scale(closes, 100, 110, 0.01), 113, 120, 0.01))).toEqual(closes);
  });

  test('are restored if neighbouring blocks have different units', () => {
    const closes = drawPrices(300, 0.01);
    expect(repair(scale(scale(closes, 100, 110, 0.01), 110, 120, 100))).toEqual(closes);
  });

  test('are found at both ends if the price is volatile', () => {
    const closes = drawPrices(300, 0.25);
    const spoiled = scale(closes, 100, 140, 0.01);
    expect(audit(spoiled).map(({ repair: change }) => change)).toMatchObject([
      { kind: 'scale', from: formatDay(FIRST + 100), to: formatDay(FIRST + 139), factor: 100 },
    ]);
  });

  test('are not repaired with confidence if the price itself moved on the first day of the block', () => {
    const closes = drawPrices(200, 0.01).map((close, t) => (t < 100 ? close : Math.round(close * 60) / 100));
    const spoiled = scale(closes, 100, 120, 0.01);
    expect(audit(spoiled)).toMatchObject([
      { confidence: 0.6, repair: { from: formatDay(FIRST + 100), to: formatDay(FIRST + 119) } },
    ]);
    expect(repair(spoiled)).toEqual(spoiled);
  });

  test('are not repaired with confidence if it is unclear which unit is right', () => {
    const closes = drawPrices(40, 0.01);
    for (const spoiled of [scale(closes, 18, 40, 0.01), scale(closes, 8, 32, 0.01)]) {
      expect(audit(spoiled).every(({ confidence }) => confidence === 0.6)).toBe(true);
      expect(repair(spoiled)).toEqual(spoiled);
    }
  });

  test('are restored if a decimal is misplaced for some days', () => {
    const closes = drawPrices(300, 0.01);
    expect(repair(scale(closes, 100, 108, 10))).toEqual(closes);
    expect(repair(scale(closes, 100, 101, 0.1))).toEqual(closes);
  });

  test('differ from a fall by 99 % and from two splits years apart', () => {
    const fallen = drawPrices(300, 0.01).map((close, t) => (t < 100 ? close : Math.round(close * 1.7) / 100));
    expect(audit(fallen).filter(({ kind }) => kind === 'currency_flip')).toEqual([]);
    const split = scale(drawPrices(600, 0.01), 100, 400, 0.1);
    expect(audit(split).map(({ kind }) => kind)).toEqual(['missed_split', 'missed_split']);
  });

  test('differ from a wrong price that is no multiple of the price', () => {
    const closes = drawPrices(300, 0.01).map((close, t) => (t === 100 ? 1.03 : close));
    expect(audit(closes)).toMatchObject([{ kind: 'unexplained_jump', repair: { kind: 'remove_values' } }]);
  });
});
