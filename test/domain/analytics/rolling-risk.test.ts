import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { computeRollingRisk, type RiskMemory } from '#domain/analytics/returns.js';

const steps = fc.array(
  fc.tuple(fc.double({ min: -0.2, max: 0.2, noNaN: true }), fc.double({ min: -0.2, max: 0.2, noNaN: true })),
  { minLength: 3, maxLength: 60 },
);

/** Returns the level series with the given returns. */
function computeLevel(returns: readonly number[]): Float64Array {
  const level = new Float64Array(returns.length + 1).fill(100);
  returns.forEach((r, t) => (level[t + 1] = level[t]! * (1 + r)));
  return level;
}

const computeReturns = (level: Float64Array): number[] =>
  Array.from({ length: level.length - 1 }, (_, t) => level[t + 1]! / level[t]! - 1);

/** Computes the unbiased variance of weighted values. The weights sum to 1. */
function computeVariance(values: readonly number[], weights: readonly number[]): number {
  const mean = values.reduce((sum, value, t) => sum + weights[t]! * value, 0);
  return (
    values.reduce((sum, value, t) => sum + weights[t]! * (value - mean) ** 2, 0) /
    (1 - weights.reduce((sum, w) => sum + w * w, 0))
  );
}

function computeWeights(count: number, memory: RiskMemory): number[] {
  const raw = Array.from({ length: count }, (_, t) =>
    'window' in memory ? Number(t >= count - memory.window) : 0.5 ** ((count - 1 - t) / memory.halfLife),
  );
  const total = raw.reduce((sum, w) => sum + w, 0);
  return raw.map((w) => w / total);
}

describe('rolling risk', () => {
  test.each<RiskMemory>([{ window: 2 }, { window: 5 }, { halfLife: 1 }, { halfLife: 12.5 }])(
    'is that of the returns so far by %o',
    (memory) => {
      fc.assert(
        fc.property(steps, (pairs) => {
          const [level, index] = [
            computeLevel(pairs.map(([ownReturn]) => ownReturn)),
            computeLevel(pairs.map(([, indexReturn]) => indexReturn)),
          ];
          const risk = computeRollingRisk(level, index, memory);
          const [ownReturns, indexReturns] = [computeReturns(level), computeReturns(index)];
          expect(risk.volatility.length).toBe(Math.max(0, level.length - risk.from));
          for (let k = 0; k < risk.volatility.length; k++) {
            const count = risk.from + k;
            const weights = computeWeights(count, memory);
            const annualise = (values: readonly number[]): number =>
              Math.sqrt(252 * computeVariance(values.slice(0, count), weights));
            expect(risk.volatility[k]).toBeCloseTo(annualise(ownReturns), 7);
            expect(risk.indexVolatility[k]).toBeCloseTo(annualise(indexReturns), 7);
            expect(risk.trackingError[k]).toBeCloseTo(annualise(ownReturns.map((r, t) => r - indexReturns[t]!)), 7);
          }
        }),
      );
    },
  );

  test('has no tracking error where the index is tracked exactly, however much both move', () => {
    const moves = Array.from({ length: 120 }, (_, t) => 0.02 * Math.sin(t * t));
    const index = computeLevel(moves);
    // A cost of 10 basis points is deducted once, on the thirtieth session.
    const level = index.map((value, t) => (t < 30 ? value : value * 0.999));
    const { from, trackingError, volatility } = computeRollingRisk(level, index, { window: 20 });
    for (let k = 0; k < trackingError.length; k++) {
      const last = from + k;
      if (last >= 30 && last < 50) expect(trackingError[k]).toBeGreaterThan(0.003);
      else expect(trackingError[k]).toBeLessThan(1e-10);
      expect(volatility[k]).toBeGreaterThan(0.1);
    }
  });
});
