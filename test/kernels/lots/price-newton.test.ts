import { describe, expect, it } from 'vitest';
import { computeDualBound } from '#kernels/lots/dual-bound.js';
import { solveRelaxation } from '#kernels/lots/interior-point.js';
import { solveByPrices } from '#kernels/lots/settle-order.js';
import { BOTH_DIRECTIONS, listRelaxedRows, type LotRelaxation, relaxTrades } from '#kernels/lots/relaxation.js';
import { createRandomAccount } from './random-account.js';

/**
 * Returns the convex form of an account without losses. Losses would be sold and bought back. Gains of both holding
 * periods have the same price.
 */
function createForm(seed: number, trackingLimit = Infinity): LotRelaxation {
  const random = createRandomAccount({ seed, n: 80, k: 6, lotsPerSecurity: 4, isOrdered: true, trackingLimit });
  const program = { ...random, lotShort: random.lotShort.map(Math.abs), lotLong: random.lotLong.map(Math.abs) };
  const side = program.sides[1]!;
  const trades = relaxTrades(program, { short: 0.37, long: 0.37 }, new Int8Array(program.n).fill(BOTH_DIRECTIONS));
  return { program, side: { ...side, longSign: 0 }, trades, rows: listRelaxedRows(program, { ...side, longSign: 0 }) };
}

const computeObjective = (
  { program, trades, side }: LotRelaxation,
  traded: Float64Array,
  weights: Float64Array,
): number => {
  let [gains, cost, variance] = [0, 0, 0];
  traded.forEach((amount, j) => {
    gains += amount * (trades.short[j]! + trades.long[j]!);
    cost += amount * trades.cost[j]!;
  });
  const activeWeights = weights.map((weight, i) => weight - program.target[i]!);
  activeWeights.forEach((activeWeight, i) => void (variance += program.specific[i]! * activeWeight * activeWeight));
  for (let f = 0; f < program.k; f++) {
    let exposure = 0;
    activeWeights.forEach((activeWeight, i) => void (exposure += program.loadings[i * program.k + f]! * activeWeight));
    variance += exposure * exposure;
  }
  return program.aversion * variance + cost + Math.max(...side.pieces.map(({ short }) => short * gains));
};

describe('solveByPrices', () => {
  it.each([1, 2, 3, 4])(
    'has the trades and the objective of the interior point method, and proves them (%i)',
    (seed) => {
      const form = createForm(seed);
      const [ownSolution, otherSolution] = [solveByPrices(form)!, solveRelaxation(form)];
      expect([ownSolution.status, otherSolution.status]).toEqual(['solved', 'solved']);
      ownSolution.weights.forEach((weight, i) => expect(weight).toBeCloseTo(otherSolution.weights[i]!, 7));
      const objective = computeObjective(form, ownSolution.traded, ownSolution.weights);
      expect(objective).toBeCloseTo(computeObjective(form, otherSolution.traded, otherSolution.weights), 10);
      // Because of the order of lots, the cost of a sale is above the convex hull of the cost.
      expect(computeDualBound(form.program, form.side, ownSolution.multipliers).bound).toBeGreaterThan(
        objective - 1e-10,
      );
    },
  );

  it('starts near a solution with fewer steps', () => {
    const form = createForm(5);
    const farSolution = solveByPrices(form)!;
    const net = farSolution.weights.map((weight, i) => weight - form.program.heldWeights[i]!);
    const nearSolution = solveByPrices(form, { near: { net, multipliers: farSolution.multipliers } })!;
    expect(nearSolution.steps).toBeLessThan(farSolution.steps);
    nearSolution.weights.forEach((weight, i) => expect(weight).toBeCloseTo(farSolution.weights[i]!, 8));
  });

  it('leaves a limit of the tracking error to the interior point method', () => {
    expect(solveByPrices(createForm(1, 0.01))).toBeUndefined();
  });
});
