import { expect, test } from 'vitest';
import { compareLevels, compareReturns, listShownSessions, NOTHING } from '#domain/studies/outside-levels.js';

test('a level that is one unit of the last digit off may begin a lasting step, and a second unit is one too many', () => {
  // The own level is 100. A level of 100.01 fits scales from 1.00005 to 1.00015, which do not contain that of the start, 1.
  const days = Int32Array.from([0, 1, 2, 3, 4, 5]);
  const own = { days, levels: new Float64Array(6).fill(100) };
  const outside = { days, values: Float64Array.from([100, 100, 100.01, 100.01, 100.01, 100.03]), decimals: 2 };
  expect(compareLevels(own, outside, NOTHING).reach).toBe(2);
  const { reach, low, high } = compareLevels(own, outside, { ...NOTHING, noise: [2] });
  expect(reach).toBe(5);
  expect(low).toBeCloseTo(1.00005, 9);
  expect(high).toBeCloseTo(1.00015, 9);
});

test('returns of another index are named with their correlation, a step, a spike and a drift are not', () => {
  const days = Int32Array.from({ length: 60 }, (_, t) => t);
  const growth = (seed: number) =>
    days.reduce<number[]>(
      (levels, t) => [...levels, (levels.at(-1) ?? 100) * (1 + 0.01 * Math.sin(seed * (t + 1) * (t + 3)))],
      [],
    );
  const own = { days, levels: Float64Array.from(growth(1)) };
  const compare = (change: (level: number, t: number) => number) =>
    compareReturns(own, {
      days,
      values: own.levels.map((level, t) => Number(change(level, t).toFixed(4))),
      decimals: 4,
    });
  expect(compare((level) => level)).toEqual({ count: 59, equal: 59, correlation: expect.closeTo(1, 6) });
  expect(compare((level, t) => (t < 9 ? level : 1.05 * level)).sentence).toBeUndefined();
  expect(compare((level, t) => (t === 9 ? 1.05 * level : level)).sentence).toBeUndefined();
  expect(compare((level, t) => 1.001 ** t * level)).toMatchObject({ equal: 0, correlation: expect.closeTo(1, 3) });
  expect(compare((level, t) => 1.001 ** t * level).sentence).toBeUndefined();
  const other = Float64Array.from(growth(2));
  expect(compare((_, t) => other[t]!).sentence).toMatch(
    /^Hardly any return agrees \(\d of 59\), and the correlation of the returns is -?0\.\d{4}: /,
  );
  expect(compare(() => 100)).toMatchObject({ correlation: null });
});

test('of many sessions, every difference of one session and both sides of every step are shown', () => {
  const errors = Float64Array.from({ length: 5001 }, (_, t) => 1e-9 * Math.sin(t) + (t > 3001 ? 0.01 : 0));
  const single = Array.from({ length: 100 }, (_, k) => 37 + 49 * k);
  for (const t of single) errors[t]! += 0.002;
  const shown = listShownSessions(errors, 1000);
  expect(shown.length).toBeLessThanOrEqual(1000);
  expect(shown).toEqual([...new Set(shown)].toSorted((a, b) => a - b));
  for (const t of [0, 3001, 3002, 5000, ...single]) expect(shown).toContain(t);
  expect(Math.max(...shown.slice(1).map((t, k) => t - shown[k]!))).toBeLessThanOrEqual(11);
  expect(listShownSessions(errors.slice(0, 5), 1000)).toEqual([0, 1, 2, 3, 4]);
});
