import { expect, test } from 'vitest';
import { compareLevels, NOTHING } from '#domain/studies/outside-levels.js';

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
