import { expect, test } from 'vitest';
import type { DataDoubt, Finding } from '#clients/typescript/divisor.js';
import { describeReadJumps, getMeaning } from '#console/pages/data/store-words.js';

const createJump = (path: string, more: Partial<Finding> = {}): Finding => ({
  severity: 'warning',
  code: 'PRICE_JUMP',
  message: '',
  path,
  ...more,
});
const createWarning = (identifier: string, date: string) => ({ identifier, date }) as DataDoubt;
const [A, B] = ['market[A 2024-01-02].CLOSE', 'market[B 2024-01-03].CLOSE'];

test('large changes of a close in the last read are counted with those that the audit keeps', () => {
  const warnings = [createWarning('A', '2024-01-02'), createWarning('C', '2024-01-02')];
  expect(describeReadJumps([createJump(A), createJump(B)], warnings)).toBe(
    'The last read reported 2 large changes of a close; the audit keeps 1 as a warning.',
  );
  expect(describeReadJumps([createJump(B)], warnings)).toBe(
    'The last read reported 1 large change of a close; the audit keeps none as a warning.',
  );
  expect(
    describeReadJumps([createJump(A, { count: 2, places: [A, B] })], [...warnings, createWarning('B', '2024-01-03')]),
  ).toBe('The last read reported 2 large changes of a close; the audit keeps 2 as warnings.');
  expect(describeReadJumps([createJump(A, { count: 30, places: [A, B] })], warnings)).toBe(
    'The last read reported 30 large changes of a close.',
  );
  expect(describeReadJumps([], warnings)).toBe('');
});

test('the meaning of a field does not repeat its name', () => {
  expect(getMeaning('CLOSE')).toBe('Closing price, as in the store');
  expect(getMeaning('ESG_SCORE')).toBe('');
});
