import { fc } from '../../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { createLinearAxis, createLogAxis } from '#views/report/charts.js';

const extents = fc
  .tuple(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.double({ min: 1e-3, max: 1e6, noNaN: true }))
  .map(([low, spread]) => ({ low, high: low + spread }));

describe('a linear axis', () => {
  test('has ticks at round values within it, at most the allowed number, evenly spaced', () => {
    fc.assert(
      fc.property(extents, fc.integer({ min: 2, max: 12 }), (range, ticksMax) => {
        const { ticks, step, position } = createLinearAxis(range, ticksMax);
        expect(ticks.length).toBeLessThanOrEqual(ticksMax);
        expect(ticks.length).toBeGreaterThanOrEqual(1);
        const mantissa = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
        expect([1, 2, 2.5, 5, 10].some((nice) => Math.abs(mantissa - nice) < 1e-6)).toBe(true);
        for (const tick of ticks) {
          expect(position(tick)).toBeGreaterThanOrEqual(-1e-9);
          expect(position(tick)).toBeLessThanOrEqual(1 + 1e-9);
          expect(Math.abs(tick / step - Math.round(tick / step))).toBeLessThan(1e-6);
        }
      }),
    );
  });

  test('shows every value, with some margin', () => {
    fc.assert(
      fc.property(extents, (range) => {
        const { position } = createLinearAxis(range, 6);
        expect(position(range.low)).toBeGreaterThanOrEqual(0);
        expect(position(range.high)).toBeLessThanOrEqual(1);
        expect(position(range.low)).toBeLessThan(position(range.high));
      }),
    );
  });

  test('begins or ends at zero if its values do', () => {
    expect(createLinearAxis({ low: 0, high: 0.3 }, 5).position(0)).toBe(0);
    expect(createLinearAxis({ low: -0.3, high: 0 }, 5).position(0)).toBe(1);
  });

  test('has the ticks a person would write', () => {
    expect(createLinearAxis({ low: 84, high: 142 }, 4).ticks).toEqual([100, 120, 140]);
    expect(createLinearAxis({ low: 0, high: 0.47 }, 4).ticks).toEqual([0, 0.2, 0.4]);
  });

  test('of a constant value surrounds it', () => {
    const { ticks, position } = createLinearAxis({ low: 100, high: 100 }, 5);
    expect(ticks).toContain(100);
    expect(position(100)).toBeCloseTo(0.5, 9);
  });
});

describe('a logarithmic axis', () => {
  test('puts equal ratios at equal distances', () => {
    const { position } = createLogAxis({ low: 50, high: 800 }, 6);
    expect(position(200) - position(100)).toBeCloseTo(position(400) - position(200), 12);
  });

  test('has ticks within its range, whatever it spans', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 1e4, noNaN: true }),
        fc.double({ min: 1.2, max: 1e5, noNaN: true }),
        fc.integer({ min: 3, max: 9 }),
        (low, ratio, ticksMax) => {
          const range = { low, high: low * ratio };
          const { ticks, position } = createLogAxis(range, ticksMax);
          expect(ticks.length).toBeGreaterThanOrEqual(1);
          expect(ticks.length).toBeLessThanOrEqual(ticksMax);
          expect(ticks.every((tick) => position(tick) >= 0 && position(tick) <= 1)).toBe(true);
          expect(position(range.low)).toBeGreaterThan(0);
          expect(position(range.high)).toBeLessThan(1);
        },
      ),
    );
  });

  test('ticks at 1, 2 and 5 over decades', () => {
    expect(createLogAxis({ low: 90, high: 1100 }, 6).ticks).toEqual([100, 200, 500, 1000]);
  });
});
