import { expect, test } from 'vitest';
import { createFan, FAN_DATES_MAX, FAN_LINES_MAX, FAN_SHARES, FAN_VARIANTS_MAX } from '#domain/studies/sweep-table.js';

const DAYS = Int32Array.from({ length: 4 }, (_, t) => 100 + t);

test('a fan has the quantiles of the levels on each day, and the variant ranked first', () => {
  const fan = createFan([0, 1, 2], DAYS, 1);
  fan.add(0, Float64Array.of(0, 0, 0));
  fan.add(1, Float64Array.of(0.1, 0.1, -0.5));
  fan.add(2, Float64Array.of(-0.1, 0, 1));
  const { days, variants, quantiles, first, levels } = fan.end();
  expect([...days]).toEqual([100, 101, 102, 103]);
  expect(variants).toBe(3);
  const rows = [
    [100, 90, 90, 60.5],
    [100, 95, 95, 80.25],
    [100, 100, 100, 100],
    [100, 105, 110.5, 140],
    [100, 110, 121, 180],
  ];
  FAN_SHARES.forEach((_, k) => [...quantiles[k]!].forEach((value, t) => expect(value).toBeCloseTo(rows[k]![t]!, 10)));
  expect([...first!].map((value) => Math.round(value * 1e9) / 1e9)).toEqual([100, 110, 121, 60.5]);
  expect(levels.map(({ variant, curve }) => [variant, Math.round(curve.at(-1)!)])).toEqual([
    [0, 100],
    [1, 61],
    [2, 180],
  ]);
});

test('a fan has the levels of each variant only if there are few', () => {
  const countLevels = (variantCount: number): number => {
    const variants = Array.from({ length: variantCount }, (_, n) => n);
    const fan = createFan(variants, DAYS, 0);
    for (const variant of variants) fan.add(variant, new Float64Array(3));
    return fan.end().levels.length;
  };
  expect([FAN_LINES_MAX, FAN_LINES_MAX + 1].map(countLevels)).toEqual([FAN_LINES_MAX, 0]);
});

test('of many variants and days a sample is drawn, always with the first, the last and the top-ranked', () => {
  const manyVariants = Array.from({ length: 5000 }, (_, n) => n);
  const days = Int32Array.from({ length: 1001 }, (_, t) => t);
  const fan = createFan(manyVariants, days, 1234);
  expect(fan.wanted.size).toBeLessThanOrEqual(FAN_VARIANTS_MAX + 1);
  expect([0, 1234, 4999].every((variant) => fan.wanted.has(variant))).toBe(true);
  // A return of 1 % on the last day changes only the last level.
  fan.add(
    1234,
    Float64Array.from({ length: 1000 }, (_, t) => (t === 999 ? 0.01 : 0)),
  );
  const { days: shown, first } = fan.end();
  expect([shown.length, shown[0], shown.at(-1)]).toEqual([FAN_DATES_MAX, 0, 1000]);
  expect([first![FAN_DATES_MAX - 2], first!.at(-1)]).toEqual([100, 101]);
});
