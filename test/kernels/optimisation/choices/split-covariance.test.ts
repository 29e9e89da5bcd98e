import { expect, test } from 'vitest';
import {
  createCardinalityCone,
  EXCLUDED,
  splitCovariance,
  UNDECIDED,
} from '#kernels/optimisation/choices/split-covariance.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeSymmetricEigenvalues } from '#kernels/algebra/symmetric-eigen.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

const N = 10;

/**
 * Returns a covariance of one factor with a different specific variance for each security. Also returns the gradient of
 * the distance from unequal weights.
 */
function createQuadratic() {
  const random = createCounterRandom({ seed: 5, stream: 1 });
  const beta = Float64Array.from({ length: N }, () => 1 + 0.3 * random.normal());
  const specific = Float64Array.from({ length: N }, () => 0.5 + random.uniform());
  const matrix = Float64Array.from({ length: N * N }, (_, e) => {
    const [i, j] = [Math.floor(e / N), e % N];
    return beta[i]! * beta[j]! + (i === j ? specific[i]! : 0);
  });
  const size = Float64Array.from({ length: N }, () => Math.exp(random.normal()));
  const total = size.reduce((sum, value) => sum + value, 0);
  const centre = size.map((value) => value / total);
  const linear = centre.map((_, i) => -centre.reduce((sum, weight, j) => sum + matrix[i * N + j]! * weight, 0));
  const counts = [{ members: Int32Array.from(centre.keys()), maximum: 3 }];
  return { n: N, matrix, linear, sum: 1, counts };
}

/** Returns the smallest eigenvalue of the remainder. It considers only points with an equal sum. */
function computeSmallestRemainder(matrix: Float64Array, openPositions: Int32Array): number {
  const order = openPositions.length;
  const remainder = Float64Array.from({ length: order * order }, (_, e) => {
    return matrix[openPositions[Math.floor(e / order)]! * N + openPositions[e % order]!]! + 1e4;
  });
  const values = new Float64Array(order);
  computeSymmetricEigenvalues(remainder, order, values);
  return values[0]!;
}

test('parts are not negative, and the remainder is convex between points of equal sum', () => {
  const problem = createQuadratic();
  const decisions = new Uint8Array(N).fill(UNDECIDED);
  const first = splitCovariance(plainAlgebra, problem, decisions, 600)!;
  decisions[2] = EXCLUDED;
  const second = splitCovariance(plainAlgebra, problem, decisions, 300, first.state)!;
  for (const { pairs, diagonal, shares, state } of [first, second]) {
    expect(Math.min(...pairs, ...diagonal)).toBe(0);
    expect(pairs.every((part, e) => part === pairs[(e % N) * N + Math.floor(e / N)])).toBe(true);
    const restMatrix = problem.matrix.map(
      (value, e) => value - pairs[e]! - (e % (N + 1) === 0 ? diagonal[e / (N + 1)]! : 0),
    );
    expect(computeSmallestRemainder(restMatrix, state.open)).toBeGreaterThan(-1e-3);
    // With pairs, more variance can be split off than without. Without pairs, the smallest eigenvalue limits equal
    // parts of all securities.
    expect(diagonal.reduce((sum, part) => sum + part, 0)).toBeGreaterThan(
      N * computeSmallestRemainder(problem.matrix, state.open),
    );
    expect(shares.reduce((sum, share, i) => sum + (decisions[i] === EXCLUDED ? 0 : share), 0)).toBeLessThan(
      3 + 1 + 1e-6,
    );
  }
  expect([...second.state.open]).toEqual([0, 1, 3, 4, 5, 6, 7, 8, 9]);
  expect([second.diagonal[2], second.pairs.slice(2 * N, 3 * N).every((part) => part === 0)]).toEqual([0, true]);
});

test('a matrix is projected on non-negative matrices whose shares sum to the maximum', () => {
  const project = createCardinalityCone(3, [{ members: Int32Array.of(0, 1), maximum: 1 }]);
  const from = Float64Array.of(4, 1, 0.8, 1, 1, -0.5, 0.8, -0.5, 0.9);
  const to = new Float64Array(9);
  project(from, to);
  expect([to[0], to[5], to[7]]).toEqual([1, 0, 0]);
  const shares = [to[1]! ** 2 / to[4]!, to[2]! ** 2 / to[8]!];
  expect(shares[0]! + shares[1]!).toBeCloseTo(1, 9);
  // No matrix nearby that splits off the same variances has a smaller distance.
  const computeDistance = (first: number, second: number) => {
    const [a, b] = [shares[0]! * first, shares[1]! * second];
    const computeSquare = (x: number, share: number) => (x * x) / share;
    return (
      2 * (a - 1) ** 2 +
      2 * (b - 0.8) ** 2 +
      (computeSquare(a, shares[0]!) - 1) ** 2 +
      (computeSquare(b, shares[1]!) - 0.9) ** 2
    );
  };
  const [a, b] = [to[1]! / shares[0]!, to[2]! / shares[1]!];
  for (const step of [-1e-3, 1e-3]) {
    expect(computeDistance(a + step, b)).toBeGreaterThan(computeDistance(a, b));
    expect(computeDistance(a, b + step)).toBeGreaterThan(computeDistance(a, b));
  }
});
