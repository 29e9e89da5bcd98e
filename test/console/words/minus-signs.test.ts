import { expect, test } from 'vitest';
import { writeMinusSigns } from '#console/words/numbers.js';

test('minus signs replace hyphens in front of numbers, but not those of dates', () => {
  expect(writeMinusSigns('a return of -1.09% on 2024-02-26 (-2 to -1)')).toBe(
    'a return of \u22121.09% on 2024-02-26 (\u22122 to \u22121)',
  );
});
