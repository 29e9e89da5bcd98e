import { expect, test } from 'vitest';
import { drawGrowths } from '../../bench/http/growth/draw.js';
import { isSlower, slope, spreadOf, type Cost } from '../../bench/http/growth/trend.js';

const cost = (x: number, ms: number): Cost => ({ x, ms, yardsticks: { low: ms, middle: ms, high: ms } });

test.each([0.5, 1, 2])('the exponent of a power law is its own: %d', (exponent) => {
  expect(slope([1, 3, 10, 47].map((x) => ({ x, ms: 7 * x ** exponent })))).toBeCloseTo(exponent, 12);
});

test('a size is slower when its least turn is above the largest of before, and by more than noise', () => {
  const then = spreadOf([1.2, 1, 1.1]);
  expect(then).toEqual({ low: 1, middle: 1.1, high: 1.2 });
  expect(isSlower({ low: 1.3, middle: 2, high: 3 }, then)).toBe(true);
  expect(isSlower({ low: 1.19, middle: 2, high: 3 }, then)).toBe(false);
  expect(isSlower({ low: 1.25, middle: 2, high: 3 }, then)).toBe(false);
});

test('a power law is drawn as a straight line, and what is slower has a ring', () => {
  const costs = [1, 10, 100].map((x) => cost(x, 5 * x));
  const picture = drawGrowths([{ name: 'a < b', axis: 'sessions', costs, before: [cost(100, 400)] }]);
  const [line] = [...picture.matchAll(/<polyline points="([^"]+)"/g)].map(([, points]) => points!).slice(1);
  const [a, b, c] = line!.split(' ').map((point) => point.split(',').map(Number)) as [number, number][];
  expect(b![0] - a![0]).toBeCloseTo(c![0] - b![0], 0);
  expect(b![1] - a![1]).toBeCloseTo(c![1] - b![1], 0);
  expect(c![1]).toBeLessThan(a![1]);
  expect(picture.match(/r="7"/g)).toHaveLength(1);
  expect(picture).toContain('a &lt; b');
  expect(picture).toContain('sessions^1.00');
});
