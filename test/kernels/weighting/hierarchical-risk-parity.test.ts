import { describe, expect, test } from 'vitest';
import {
  solveHierarchicalRiskParity,
  orderLeaves,
  LINKAGES,
  linkClusters,
  TREE_DISTANCES,
  type HierarchyTerms,
} from '#kernels/weighting/hierarchical-risk-parity.js';
import { fc } from '../../fast-check.js';
import { computePlainOrder, computePlainWeights, createPoints, sumValues, type Matrix } from './plain-hierarchy.js';

function computeWeights(covariance: Matrix, terms: HierarchyTerms): number[] {
  const out = new Float64Array(covariance.length);
  solveHierarchicalRiskParity(Float64Array.from(covariance.flat()), terms, out);
  return [...out];
}

/** Computes X'X / T of rows of returns. */
function computeSample(rows: Matrix): number[][] {
  const n = rows[0]!.length;
  return Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => sumValues(rows.map((row) => row[i]! * row[j]!)) / rows.length),
  );
}

/** Creates returns without ties, in which groups of three share a factor. */
function createReturns(seed: number, n: number): number[][] {
  let state = seed + 1;
  const drawUniformValue = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000 - 0.5;
  };
  return Array.from({ length: 3 * n + 4 }, () => {
    const factors = Array.from({ length: n }, drawUniformValue);
    return Array.from({ length: n }, (_, i) => (0.2 + i / n) * (factors[i % 3]! + drawUniformValue()));
  });
}

describe('hierarchical risk parity', () => {
  test('by hand: two securities have weights in inverse proportion to their variances', () => {
    const weights = computeWeights(
      [
        [0.04, 0.01],
        [0.01, 0.16],
      ],
      { linkage: 'single', distance: 'columns' },
    );
    expect(weights).toEqual([expect.closeTo(0.8, 14), expect.closeTo(0.2, 14)]);
  });

  test('by hand: two close pairs are adjacent and split by the variance of each pair', () => {
    // A and C are nearly equal, and so are B and D. So the order is A, C, B, D. If two securities have variance v and
    // correlation 0.9, the pair has variance 0.95 v. The pairs with 0.01 and 0.03 receive 3/4 and 1/4. Each security
    // receives half of its pair.
    const [a, b] = [0.01, 0.03];
    const covariance = [
      [a, 0, 0.9 * a, 0],
      [0, b, 0, 0.9 * b],
      [0.9 * a, 0, a, 0],
      [0, 0.9 * b, 0, b],
    ];
    for (const distance of TREE_DISTANCES)
      for (const linkage of LINKAGES)
        expect(computeWeights(covariance, { linkage, distance })).toEqual(
          [0.375, 0.125, 0.375, 0.125].map((weight) => expect.closeTo(weight, 14)),
        );
  });

  test.each(LINKAGES.flatMap((linkage) => TREE_DISTANCES.map((distance) => ({ linkage, distance }))))(
    'agrees with sets of points merged and halved in plain code: %j',
    (terms) => {
      fc.assert(
        fc.property(fc.nat(1e6), fc.integer({ min: 2, max: 14 }), (seed, n) => {
          const rows = createReturns(seed, n);
          const covariance = computeSample(rows);
          const order = computePlainOrder(createPoints(rows, covariance, terms.distance), terms.linkage);
          const weights = computeWeights(covariance, terms);
          expect(sumValues(weights)).toBeCloseTo(1, 12);
          const plainWeights = computePlainWeights(covariance, order);
          weights.forEach((weight, i) => expect(Math.abs(weight - plainWeights[i]!)).toBeLessThan(1e-9));
        }),
        { numRuns: 60 },
      );
    },
  );

  test('of pairs at equal distances the pair with the earliest clusters is merged', () => {
    // Four points form a square of side 1. So the pairs 0-1, 1-2, 2-3 and 0-3 have equal distances.
    const computeSide = (i: number, j: number) => (i === j ? 0 : (i + j) % 2 === 1 ? 1 : Math.SQRT2);
    const distances = Float64Array.from({ length: 16 }, (_, cell) => computeSide(cell >> 2, cell & 3));
    const merges = linkClusters(distances, 4, 'complete');
    expect(merges.map(({ left, right }) => [left, right])).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    expect([...orderLeaves(merges, 4)]).toEqual([0, 1, 2, 3]);
    const singleMerges = linkClusters(
      Float64Array.from({ length: 16 }, (_, cell) => computeSide(cell >> 2, cell & 3)),
      4,
      'single',
    );
    expect(singleMerges.map(({ left, right }) => [left, right])).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
  });

  test('one security has the weight 1, and a variance of 0 is refused', () => {
    expect(computeWeights([[0.04]], { linkage: 'ward', distance: 'columns' })).toEqual([1]);
    expect(() => computeWeights([[0]], { linkage: 'single', distance: 'columns' })).toThrow('more than 0 needed');
  });
});
