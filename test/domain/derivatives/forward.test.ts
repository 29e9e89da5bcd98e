import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import {
  computeAnnualisedRoll,
  computeTermStructure,
  priceForward,
  solveImpliedDividendYield,
  solveImpliedRate,
} from '#domain/studies/derivatives.js';

const rate = fc.double({ min: -0.2, max: 0.3, noNaN: true });
const rates = fc.record({ riskFree: rate, dividend: rate, borrow: rate });
const days = fc.integer({ min: 1, max: 3650 });
const spot = fc.double({ min: 0.5, max: 1e6, noNaN: true });

describe('a forward', () => {
  test('equals the worked roll of the contract: S 4000, r 5 %, q 1.5 %, b 0.2 %, 73 and 164 days', () => {
    const terms = { spot: 4000, rates: { riskFree: 0.05, dividend: 0.015, borrow: 0.002 } };
    const front = priceForward({ ...terms, days: 73 });
    const backForward = priceForward({ ...terms, days: 164 });
    expect(front.fairValue).toBeCloseTo(4026.487311980664, 9);
    expect(backForward.fairValue).toBeCloseTo(4059.7514737589586, 9);
    expect(computeAnnualisedRoll(front, backForward)).toBeCloseTo(-0.033, 13);
    expect(front.carry.financing).toBeCloseTo(40.20066833667224, 10);
    expect(front.carry.dividend).toBeCloseTo(-11.982017986508097, 10);
    expect(front.carry.borrow).toBeCloseTo(-1.5996800426624003, 10);
    expect(front.carry.residual).toBeCloseTo(-0.13165832683784973, 9);
  });

  test('rolls at q + b - r whatever the expiries', () => {
    fc.assert(
      fc.property(spot, rates, days, days, (s, r, a, gap) => {
        const front = priceForward({ spot: s, rates: r, days: a });
        const backForward = priceForward({ spot: s, rates: r, days: a + gap });
        const expected = r.dividend + r.borrow - r.riskFree;
        const error = 1e-13 / (gap / 365);
        expect(Math.abs(computeAnnualisedRoll(front, backForward) - expected)).toBeLessThan(1e-11 + error);
      }),
    );
  });

  test('has sensitivities that agree with central differences', () => {
    fc.assert(
      fc.property(
        spot,
        rates,
        days,
        fc.array(
          fc.record({ days: fc.integer({ min: 1, max: 300 }), amount: fc.double({ min: 0, max: 0.001, noNaN: true }) }),
          { maxLength: 4 },
        ),
        (s, r, d, fractions) => {
          const dividends = fractions.filter((x) => x.days <= d).map((x) => ({ days: x.days, amount: x.amount * s }));
          const priceAtSpot = (change: Partial<typeof r>, movedSpot = s) =>
            priceForward({ spot: movedSpot, days: d, rates: { ...r, ...change }, dividends }).fairValue;
          const h = 1e-6;
          const forward = priceForward({ spot: s, days: d, rates: r, dividends });
          const scale = s * Math.exp(10) * 1e-10;
          expect(
            Math.abs(
              forward.rho -
                (1e-4 * (priceAtSpot({ riskFree: r.riskFree + h }) - priceAtSpot({ riskFree: r.riskFree - h }))) /
                  (2 * h),
            ),
          ).toBeLessThan(scale);
          if (dividends.length === 0) {
            expect(
              Math.abs(
                forward.dividendSensitivity -
                  (1e-4 * (priceAtSpot({ dividend: r.dividend + h }) - priceAtSpot({ dividend: r.dividend - h }))) /
                    (2 * h),
              ),
            ).toBeLessThan(scale);
          }
          expect(forward.delta).toBeCloseTo((priceAtSpot({}, s * 1.001) - priceAtSpot({}, s * 0.999)) / (0.002 * s), 6);
        },
      ),
    );
  });

  test('gives back the rate and the yield that priced it', () => {
    fc.assert(
      fc.property(spot, rates, days, (s, r, d) => {
        const terms = { spot: s, rates: r, days: d };
        const price = priceForward(terms).fairValue;
        const error = 1e-12 / (d / 365);
        expect(Math.abs(solveImpliedRate(terms, price)! - r.riskFree)).toBeLessThan(1e-12 + error);
        expect(Math.abs(solveImpliedDividendYield(terms, price)! - r.dividend)).toBeLessThan(1e-12 + error);
      }),
    );
  });

  test('with discrete dividends gives back the rate, and has no implied yield', () => {
    const terms = {
      spot: 100,
      days: 365,
      rates: { riskFree: 0.04, dividend: 0, borrow: 0.01 },
      dividends: [
        { days: 90, amount: 1 },
        { days: 270, amount: 1.5 },
      ],
    };
    const { fairValue, carry } = priceForward(terms);
    const byHand = (100 - Math.exp((-0.04 * 90) / 365) - 1.5 * Math.exp((-0.04 * 270) / 365)) * Math.exp(0.03);
    expect(fairValue).toBeCloseTo(byHand, 12);
    expect(carry.dividend).toBeCloseTo(-(Math.exp((0.04 * 275) / 365) + 1.5 * Math.exp((0.04 * 95) / 365)), 12);
    expect(solveImpliedRate(terms, fairValue)).toBeCloseTo(0.04, 12);
    expect(solveImpliedDividendYield(terms, fairValue)).toBeNull();
  });
});

describe('a term structure', () => {
  const computeStructure = (riskFree: number, dividend: number) =>
    computeTermStructure({ spot: 100, days: [30, 60, 90], rates: { riskFree, dividend, borrow: 0 } });
  test('is named by the order of spot and prices', () => {
    expect(computeStructure(0.05, 0.01).shape).toBe('contango');
    expect(computeStructure(0.01, 0.05).shape).toBe('backwardation');
    expect(computeStructure(0.03, 0.03).shape).toBe('flat');
  });
  test('has no roll before its first point', () => {
    const { points } = computeStructure(0.05, 0.01);
    expect(points.map((point) => point.rollFromPrevious === null)).toEqual([true, false, false]);
    expect(points[1]!.rollFromPrevious).toBeCloseTo(-0.04, 12);
  });
});
