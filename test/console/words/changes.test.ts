import { expect, test } from 'vitest';
import { describeValueChange, isChanged } from '#console/words/actions.js';
import { formatFigure } from '#console/words/numbers.js';

test('a value is changed only if it differs by more than rounding', () => {
  expect(isChanged(0.086034, 0.086034 * (1 + 1e-12))).toBe(false);
  expect(isChanged(0.086034, 0.086035)).toBe(true);
  expect(isChanged(0, 0)).toBe(false);
  expect(isChanged(0, 0.1)).toBe(true);
  expect(isChanged(null, null)).toBe(false);
  expect(isChanged(0.1, null)).toBe(true);
});

test('a figure is unchanged only if its relative change is below 0.005 bp', () => {
  expect(describeValueChange(0.5, 0.75, formatFigure)).toBe('0.500000 → 0.750000');
  expect(describeValueChange(0.5, 0.5, formatFigure)).toBe('0.500000, unchanged');
  expect(describeValueChange(1000, 1000.001, (value) => String(Math.round(value ?? 0)))).toBe('1000, +0.01 bp');
});
