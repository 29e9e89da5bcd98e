import { expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { findDatesWithin } from '#views/run-columns.js';

test('a window without a date of the run is refused with the requested dates', () => {
  const days = Int32Array.from(['2024-01-02', '2024-01-05'], parseValidDay);
  expect(findDatesWithin(days, { start: '2024-01-03', end: null })).toEqual({ from: 1, to: 1 });
  const expectRefusal = (start: string | null, end: string | null, words: string) =>
    expect(() => findDatesWithin(days, { start, end })).toThrow(
      expect.objectContaining({
        code: 'NO_DATA_IN_RANGE',
        message: `The run covers 2024-01-02 to 2024-01-05 and has no date ${words}.`,
      }),
    );
  expectRefusal('2024-01-03', '2024-01-04', 'from 2024-01-03 to 2024-01-04');
  expectRefusal(null, '2024-01-01', 'to 2024-01-01');
  expectRefusal('2025-01-01', null, 'from 2025-01-01');
});
