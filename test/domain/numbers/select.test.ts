import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { select } from '#domain/base/numbers.js';

test('the value at a position is that of the sorted range, with none larger before it', () => {
  const ranges = fc
    .array(fc.oneof(fc.integer({ min: 0, max: 4 }), fc.double({ noNaN: true })), { minLength: 1, maxLength: 70 })
    .chain((values) => fc.tuple(fc.constant(values), fc.nat(values.length - 1), fc.nat(values.length - 1)));
  fc.assert(
    fc.property(ranges, ([values, from, ahead]) => {
      const position = Math.max(from, ahead);
      const numbers = Float64Array.from(values, (value) => value + 0);
      const sortedNumbers = numbers.slice(from).sort();
      expect(select(numbers, { from, to: numbers.length - 1, position }) === sortedNumbers[position - from]).toBe(true);
      expect(numbers.subarray(from, position).every((value) => value <= sortedNumbers[position - from]!)).toBe(true);
    }),
  );
});
