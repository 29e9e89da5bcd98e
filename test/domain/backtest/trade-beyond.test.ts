import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { type TradeInput, tradeUnpriced, type UnpricedOutcome } from '#domain/books/trading.js';
import { IS_SOAK } from '../../soak.js';

/** Random current and target weights of up to six securities. They sum to at most 1. Some securities cannot trade. */
const randomTrade: fc.Arbitrary<TradeInput> = fc
  .record({
    names: fc.array(fc.record({ held: fc.nat(100), wanted: fc.nat(100), isFrozen: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    }),
    cash: fc.constantFrom(0, 0, 20, 300),
    exposure: fc.constantFrom(0, 0.5, 1),
    costRate: fc.constantFrom(0, 0.001, 0.1),
  })
  .map(({ names, cash, exposure, costRate }) => {
    const total = names.reduce<number>((sum, name) => sum + name.held, cash) || 1;
    const wantedTotal = names.reduce<number>((sum, name) => sum + name.wanted, 0) || 1;
    return {
      before: Float64Array.from(names, (name) => name.held / total),
      targets: Float64Array.from(names, (name) => (exposure * name.wanted) / wantedTotal),
      slots: Int32Array.from(names.keys()),
      frozen: new Set(names.flatMap(({ isFrozen }, slot) => (isFrozen ? [slot] : []))),
      costRate,
    };
  });

/** Random trades with short positions. Some securities cannot trade, and covering can make the cash negative. */
const randomShortTrade: fc.Arbitrary<TradeInput & { readonly unpriced: ReadonlySet<number> }> = fc
  .record({
    names: fc.array(
      fc.record({
        held: fc.integer({ min: -60, max: 100 }),
        wanted: fc.integer({ min: -60, max: 100 }),
        isFrozen: fc.boolean(),
        isUnpriced: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    taken: fc.constantFrom(0, 0.2),
    costRate: fc.constantFrom(0, 0.001, 0.05),
  })
  .map(({ names, taken, costRate }) => ({
    before: Float64Array.from(names, ({ held: holding }) => holding / 300 + taken),
    targets: Float64Array.from(names, ({ wanted }) => wanted / 300),
    slots: Int32Array.from(names.keys()),
    frozen: new Set(names.flatMap(({ isFrozen }, slot) => (isFrozen ? [slot] : []))),
    unpriced: new Set(names.flatMap(({ isFrozen, isUnpriced }, slot) => (isFrozen && isUnpriced ? [slot] : []))),
    costRate,
  }));

function computeMoneyAfter(
  { before, targets, frozen }: TradeInput,
  { retained, bought, raised }: UnpricedOutcome,
  unpriced: ReadonlySet<number> = new Set(),
): number[] {
  return [...before].map((weightBefore, slot) => {
    const change = targets[slot]! * retained - weightBefore;
    const money = frozen.has(slot) ? weightBefore : weightBefore + (change > 0 ? bought * change : change);
    return money > 0 && !unpriced.has(slot) ? money * (1 - raised) : money;
  });
}

describe('a trade beyond a tolerance', () => {
  test('holdings, cash and costs add up to the initial amount', () => {
    fc.assert(
      fc.property(randomTrade, (input) => {
        const outcome = tradeUnpriced(input);
        const after = computeMoneyAfter(input, outcome);
        const cost =
          input.costRate * after.reduce((sum, money, slot) => sum + Math.abs(money - input.before[slot]!), 0);
        const cash = outcome.cash * outcome.retained;
        expect(Math.abs(after.reduce((sum, money) => sum + money, 0) + cash + cost - 1)).toBeLessThan(1e-11);
        expect(Math.abs(outcome.retained + cost - 1)).toBeLessThan(1e-11);
      }),
      { numRuns: IS_SOAK ? 500 : 150 },
    );
  });

  test('cash is never negative, and purchases shrink only when none is left', () => {
    fc.assert(
      fc.property(randomTrade, (input) => {
        const { cash, bought, retained } = tradeUnpriced(input);
        expect(cash).toBeGreaterThanOrEqual(0);
        expect(bought).toBeGreaterThanOrEqual(0);
        expect(bought).toBeLessThanOrEqual(1);
        expect(retained).toBeGreaterThan(0.5);
        if (bought < 1) expect(cash).toBe(0);
      }),
      { numRuns: IS_SOAK ? 500 : 150 },
    );
  });

  test('with short positions everything there was is held, in cash or paid, and cash is negative only without a long holding to sell', () => {
    fc.assert(
      fc.property(randomShortTrade, ({ unpriced, ...input }) => {
        const outcome = tradeUnpriced(input, unpriced);
        const after = computeMoneyAfter(input, outcome, unpriced);
        const cost =
          input.costRate * after.reduce((sum, money, slot) => sum + Math.abs(money - input.before[slot]!), 0);
        expect(
          Math.abs(after.reduce((sum, money) => sum + money, 0) + outcome.cash * outcome.retained + cost - 1),
        ).toBeLessThan(1e-11);
        expect(Math.abs(outcome.retained + cost - 1)).toBeLessThan(1e-11);
        if (outcome.cash < 0) expect(after.every((money, slot) => money <= 1e-12 || unpriced.has(slot))).toBe(true);
        if (outcome.raised > 0) expect(outcome.bought).toBe(0);
      }),
      { numRuns: IS_SOAK ? 1000 : 300 },
    );
  });

  test('one security sold and one bought under a cost of a tenth', () => {
    // 0.9 is sold down to 0.1 V'. 0.1 is bought up to 0.9 V'. So V' + 0.1 (0.9 - 0.1 V' + 0.9 V' - 0.1) = 1.
    const input = {
      before: Float64Array.of(0.9, 0.1),
      targets: Float64Array.of(0.1, 0.9),
      slots: Int32Array.of(0, 1),
      frozen: new Set<number>(),
      costRate: 0.1,
    };
    const { retained, bought, cash } = tradeUnpriced(input);
    expect(Math.abs(retained - 0.92 / 1.08)).toBeLessThan(1e-15);
    expect([bought, cash]).toEqual([1, 0]);
  });
});
