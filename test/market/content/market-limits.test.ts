import { expect, test } from 'vitest';
import { findMemoryLimit } from '#kernels/memory/paged-memory.js';
import { refuseSize } from '#market/content/market-content.js';
import { createProblems } from '#market/tables/problems.js';

test.each([
  [
    'more names than are held',
    { dates: 1, identifiers: 50_001, fields: 1 },
    'The market has 50001 identifiers; at most 50000 are accepted.',
  ],
  [
    'more bytes than are held',
    { dates: 10_000_000, identifiers: 1000, fields: 1 },
    `10000000 dates of 1000 identifiers and 1 columns need 80000000000 bytes; at most ${Math.floor(findMemoryLimit().panelBytes)} are accepted.`,
  ],
])('a market of %s is refused with both numbers', (_what, shape, message) => {
  const problems = createProblems();
  expect(refuseSize(shape, problems)).toBe(true);
  expect(problems.findings()).toMatchObject([{ severity: 'error', code: 'OUT_OF_RANGE', path: 'market', message }]);
});

test('a market of an ordinary size is not refused', () => {
  const problems = createProblems();
  expect([refuseSize({ dates: 5040, identifiers: 3000, fields: 6 }, problems), problems.errors]).toEqual([false, 0]);
});
