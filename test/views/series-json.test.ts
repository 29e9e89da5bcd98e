import { fc } from '../fast-check.js';
import { expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { encodeDays } from '#views/json/writer.js';

const formatDays = (days: Iterable<number>): string =>
  `[${new TextDecoder().decode(encodeDays(Int32Array.from(days)))}]`;

test('dates are written as JSON writes their texts, every day of four centuries and the ends of the years with four digits', () => {
  const from = parseValidDay('1799-12-31');
  const days = [
    ...Array.from({ length: 4 * 36_525 }, (_, i) => from + i),
    parseValidDay('0000-01-01'),
    parseValidDay('0000-02-29'),
    parseValidDay('9999-12-31'),
  ];
  expect(formatDays(days)).toBe(JSON.stringify(days.map(formatDay)));
});

test('any dates in any order are written, also none', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: parseValidDay('0000-01-01'), max: parseValidDay('9999-12-31') }), { maxLength: 5 }),
      (days) => {
        expect(formatDays(days)).toBe(JSON.stringify(days.map(formatDay)));
      },
    ),
  );
  expect(() => encodeDays(Int32Array.of(parseValidDay('9999-12-31') + 1))).toThrow('four digits');
});
