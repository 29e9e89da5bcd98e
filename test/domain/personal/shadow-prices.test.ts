import { describe, expect, test } from 'vitest';
import { lotOf, smallBatch, solved } from './small-batch.js';

const common = smallBatch([1 / 3, 1 / 3, 1 / 3]);
/** 60 % in one security with a gain of half its price: a lower tracking error requires taxable sales. */
const held = { cash: 40_000, lots: [lotOf('A', 600, 50)] };
const spent = ({ tax, costs }: ReturnType<typeof solved>): number => tax + costs;

describe('prices in money', () => {
  test('one more basis point of a tracking error limit saves the tax that is said', () => {
    const [near, far] = [0.01, 0.0101].map((limit) => solved(common, { ...held, tracking_error_limit: limit }));
    expect(near!.tracking_error).toBeCloseTo(0.01, 6);
    const saved = spent(near!) - spent(far!);
    expect(saved).toBeGreaterThan(1);
    expect(near!.one_more_bp_saves / saved).toBeCloseTo(1, 3);
    // The limit costs less than the tax, because the objective includes the variance.
    expect(near!.shadow_prices.tracking_error_bp).toBeGreaterThan(0);
    expect(near!.shadow_prices.tracking_error_bp).toBeLessThan(saved);
  });

  test('a larger budget of gains lowers the objective by its shadow price', () => {
    const [near, far] = [5000, 5010].map((budget) => solved(common, { ...held, tax: { budget } }));
    const lower = (near!.certificate.objective - far!.certificate.objective) * near!.value;
    expect(lower).toBeGreaterThan(0);
    expect(((near!.shadow_prices.rows['tax.budget'] ?? 0) * 10) / near!.value / lower).toBeCloseTo(1, 2);
  });
});
