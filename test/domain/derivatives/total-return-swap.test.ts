import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { listResetDates, type SwapTerms, valueSwap } from '#domain/studies/derivatives.js';

const start = parseValidDay('2024-01-02');
const maturity = parseValidDay('2026-01-02');
const extremeMatrix = listResetDates({ start, maturity, frequency: 'quarterly', calendar: undefined });
const base: SwapTerms = {
  spot: 100,
  initialLevel: 100,
  notional: 1e6,
  asOf: start,
  periodStart: start,
  periodEnds: extremeMatrix,
  returnType: 'total',
  rates: { riskFree: 0.05, dividend: 0.02, borrow: 0 },
  spread: 0,
};

describe('reset dates', () => {
  test('step by months from the start, roll to the next weekday and end at maturity', () => {
    const resets = listResetDates({
      start: parseValidDay('2024-05-31'),
      maturity: parseValidDay('2025-05-31'),
      frequency: 'quarterly',
      calendar: undefined,
    });
    expect(resets.map(formatDay)).toEqual(['2024-09-02', '2024-12-02', '2025-02-28', '2025-05-31']);
  });
  test('are 1,200 at most', () => {
    const listMonthlyResets = (until: string) =>
      listResetDates({ start, maturity: parseValidDay(until), frequency: 'monthly', calendar: undefined });
    expect(listMonthlyResets('2124-01-02')).toHaveLength(1200);
    expect(() => listMonthlyResets('2124-01-04')).toThrow(expect.objectContaining({ code: 'VALIDATION_FAILED' }));
  });

  test('are the maturity alone without a frequency', () => {
    expect(listResetDates({ start, maturity, frequency: 'none', calendar: undefined })).toEqual([maturity]);
  });
});

describe('a total return swap', () => {
  test('is worth nothing at its start when funded at the floating rate', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -0.05, max: 0.3, noNaN: true }),
        fc.double({ min: 1, max: 1e5, noNaN: true }),
        (riskFree, level) => {
          const { value, parSpread } = valueSwap({
            ...base,
            spot: level,
            initialLevel: level,
            rates: { riskFree, dividend: 0.03, borrow: 0 },
          });
          expect(Math.abs(value)).toBeLessThan(1e-9 * base.notional);
          expect(Math.abs(parSpread)).toBeLessThan(1e-9);
        },
      ),
    );
  });

  test('pays about minus the borrow cost as its par spread', () => {
    const { parSpread } = valueSwap({ ...base, rates: { riskFree: 0.05, dividend: 0.02, borrow: 0.01 } });
    expect(parSpread).toBeLessThan(0);
    expect(Math.abs(parSpread + 0.01)).toBeLessThan(5e-4);
  });

  test('is worth nothing at its own par spread', () => {
    const terms = {
      ...base,
      spot: 107,
      asOf: start + 40,
      rates: { riskFree: 0.03, dividend: 0.02, borrow: 0.004 },
      spread: 0.002,
      returnType: 'price' as const,
    };
    const { parSpread } = valueSwap(terms);
    expect(Math.abs(valueSwap({ ...terms, spread: parSpread }).value)).toBeLessThan(1e-6);
  });

  test('has sensitivities that agree with central differences inside a period', () => {
    const terms = {
      ...base,
      spot: 107,
      asOf: start + 40,
      rates: { riskFree: 0.03, dividend: 0.02, borrow: 0.004 },
      spread: 0.002,
    };
    const valueAtRate = (riskFree: number, spot = 107) =>
      valueSwap({ ...terms, spot, rates: { ...terms.rates, riskFree } }).value;
    const { rho, delta } = valueSwap(terms);
    expect(rho).toBeCloseTo((1e-4 * (valueAtRate(0.03 + 1e-5) - valueAtRate(0.03 - 1e-5))) / 2e-5, 5);
    expect(delta).toBeCloseTo((valueAtRate(0.03, 107.01) - valueAtRate(0.03, 106.99)) / 0.02, 5);
  });

  test('equals a single period worked by hand', () => {
    const swap = valueSwap({
      ...base,
      spot: 110,
      asOf: start + 90,
      periodEnds: [start + 180],
      returnType: 'price',
      spread: 0.01,
    });
    const discount = Math.exp((-0.05 * 90) / 365);
    const equity = 1e6 * (1.1 * Math.exp((-0.02 * 90) / 365) - discount);
    const fixedRate = (Math.exp((0.05 * 180) / 365) - 1) / 0.5;
    const financing = 1e6 * (fixedRate + 0.01) * 0.5 * discount;
    expect(swap.equityLeg).toBeCloseTo(equity, 6);
    expect(swap.financingLeg).toBeCloseTo(financing, 6);
    expect(swap.accruedEquity).toBeCloseTo(1e5, 6);
    expect(swap.accruedFinancing).toBeCloseTo((1e6 * (fixedRate + 0.01) * 90) / 360, 6);
  });
});
