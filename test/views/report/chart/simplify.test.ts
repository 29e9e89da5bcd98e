import { fc } from '../../../fast-check.js';
import { expect, test } from 'vitest';
import { simplifyLine } from '#views/report/charts.js';

const line = fc
  .array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 1, maxLength: 400 })
  .map((values) => Float64Array.from(values));

test('keeps the ends, and of every bucket the lowest and the highest point', () => {
  fc.assert(
    fc.property(line, fc.double({ min: 0.1, max: 30, noNaN: true }), (values, bucket) => {
      const xs = Float64Array.from(values, (_, i) => i * 0.7);
      const chosenPositions = [...simplifyLine({ xs, values, bucket })];
      expect(chosenPositions[0]).toBe(0);
      expect(chosenPositions.at(-1)).toBe(values.length - 1);
      chosenPositions.forEach((position, i) => i > 0 && expect(position).toBeGreaterThan(chosenPositions[i - 1]!));
      const isChosen = new Set(chosenPositions.map((position) => values[position]));
      expect(isChosen.has(Math.max(...values))).toBe(true);
      expect(isChosen.has(Math.min(...values))).toBe(true);
    }),
  );
});

test('keeps every point that is further from its neighbour than a bucket is wide', () => {
  const values = Float64Array.from({ length: 50 }, (_, i) => i % 7);
  expect([...simplifyLine({ xs: values.map((_, i) => i * 2), values, bucket: 1 })]).toEqual([...values.keys()]);
});

test('keeps at most four points of a bucket', () => {
  const values = Float64Array.from({ length: 10_000 }, (_, i) => Math.sin(i));
  const xs = values.map((_, i) => i / 100);
  expect(simplifyLine({ xs, values, bucket: 0.5 }).length).toBeLessThanOrEqual(4 * 201);
});
