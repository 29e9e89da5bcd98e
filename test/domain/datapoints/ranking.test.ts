import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { rankPositions } from '#domain/datapoints/statistics.js';

/**
 * Numbers of values around the limit at which the sort changes. Few values are sorted by merge sort, many by a radix
 * sort of their bits.
 */
const COUNTS = [0, 1, 40, 1499, 1500, 1501, 3000];

const SPECIAL = [0, -0, Infinity, -Infinity, Number.NaN, Number.MIN_VALUE, -Number.MIN_VALUE, Number.MAX_VALUE, 1, -1];

const value = fc.oneof(
  fc.constantFrom(...SPECIAL),
  fc.double(),
  fc.integer({ min: -5, max: 5 }),
  fc.double({ min: 1e9, max: 2e9 }),
);

test.each(COUNTS)(
  'of %i values the best is first, equal ones are in the order given, and missing ones last',
  (count) => {
    fc.assert(
      fc.property(
        fc.array(value, { minLength: count, maxLength: count, size: 'max' }),
        fc.boolean(),
        (list, isAscending) => {
          const values = Float64Array.from(list);
          const positions = Int32Array.from(list, (_, i) => i);
          const expected = list
            .map((number, i) => ({ number, i }))
            .toSorted((a, b) => {
              if (Number.isNaN(a.number) || Number.isNaN(b.number))
                return Number(Number.isNaN(a.number)) - Number(Number.isNaN(b.number)) || a.i - b.i;
              if (a.number === b.number) return a.i - b.i;
              return a.number < b.number === isAscending ? -1 : 1;
            })
            .map(({ i }) => i);
          expect([...rankPositions(values, positions, isAscending)]).toEqual(expected);
        },
      ),
      { numRuns: 20 },
    );
  },
);

test('positions that are a part of the values are ranked alone', () => {
  const values = Float64Array.from({ length: 4000 }, (_, i) => (i * 7919) % 4001);
  const oddColumns = Int32Array.from({ length: 2000 }, (_, i) => 2 * i + 1);
  const order = rankPositions(values, oddColumns, false);
  expect([...order]).toEqual([...oddColumns].toSorted((a, b) => values[b]! - values[a]!));
});
