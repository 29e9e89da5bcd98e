import { expect, test } from 'vitest';
import { describeChange, describeWeights } from '#console/words/changes.js';
import { formatFigure } from '#console/words/numbers.js';

test('a weight that changes by less than its digits shows the change in basis points', () => {
  expect(describeWeights(0.0016, 0.0017)).toBe('0.16% → 0.17%');
  expect(describeWeights(0.0028, 0.002803)).toBe('0.28%, +0.03 bp');
  expect(describeWeights(0.0028, 0.002797)).toBe('0.28%, −0.03 bp');
  expect(describeWeights(0.0028, 0.0028)).toBe('0.28%, unchanged');
  expect(describeWeights(null, 0.0028)).toBe('– → 0.28%');
  expect(describeWeights(null, null)).toBe('–');
});

test('a figure is unchanged only if its relative change is below 0.005 bp', () => {
  expect(describeChange(0.5, 0.75, formatFigure)).toBe('0.500000 → 0.750000');
  expect(describeChange(0.5, 0.5, formatFigure)).toBe('0.500000, unchanged');
  expect(describeChange(1000, 1000.001, (value) => String(Math.round(value ?? 0)))).toBe('1000, +0.01 bp');
});
