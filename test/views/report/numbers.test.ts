import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import {
  formatCountFigure,
  formatPercentFigure,
  formatPlainTexts,
  formatRatio,
  formatTick,
} from '#views/report/figures.js';

test('fractions are percent with two decimals', () => {
  expect([0.0523, 0, 1, 12.345678, -0.05, 0.00004, -0.00004, -1234.5].map(formatPercentFigure)).toEqual([
    '5.23%',
    '0.00%',
    '100.00%',
    '1,234.57%',
    '-5.00%',
    '0.00%',
    '0.00%',
    '-123,450.00%',
  ]);
});

test('ratios and levels have two decimals, counts none', () => {
  expect([1, 1234.5, -0.004, -1234567.891].map(formatRatio)).toEqual(['1.00', '1,234.50', '0.00', '-1,234,567.89']);
  expect([0, 7, 1000, 1234567].map(formatCountFigure)).toEqual(['0', '7', '1,000', '1,234,567']);
});

test('a missing figure is stated as missing', () => {
  expect([formatPercentFigure(null), formatRatio(null), formatCountFigure(null)]).toEqual(['n/a', 'n/a', 'n/a']);
});

test('every printed number is parsed back to the rounded number, with an ASCII hyphen and commas between thousands', () => {
  fc.assert(
    fc.property(fc.double({ min: -1e9, max: 1e9, noNaN: true }), (value) => {
      const text = formatRatio(value);
      expect(text).toMatch(/^-?\d{1,3}(?:,\d{3})*\.\d{2}$/);
      expect(text).not.toMatch(/^-[0,.]*$/);
      expect(Math.abs(Number(text.replaceAll(',', '')) - value)).toBeLessThanOrEqual(0.005 + 1e-9 * Math.abs(value));
    }),
  );
});

test('numbers of a template are counts when all of them are whole', () => {
  expect(formatPlainTexts([1, 2000])).toEqual(['1', '2,000']);
  expect(formatPlainTexts([1, 2.5])).toEqual(['1.00', '2.50']);
});

test('ticks have the decimals of their step', () => {
  expect(formatTick(0.025, { step: 0.025, unit: 'percent' })).toBe('2.5%');
  expect(formatTick(-0.2, { step: 0.1, unit: 'percent' })).toBe('-20%');
  expect(formatTick(0.1 + 0.2, { step: 0.1, unit: 'points' })).toBe('0.3');
  expect(formatTick(1500, { step: 500, unit: 'points' })).toBe('1,500');
});
