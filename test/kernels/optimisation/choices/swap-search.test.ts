import { expect, test } from 'vitest';
import { searchSwaps } from '#kernels/optimisation/choices/swap-search.js';
import { createSwapMoves, type ChosenQuadratic } from '#kernels/optimisation/choices/swap-moves.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

const N = 12;
const WORK = 1e6;

/** Returns the problem of the distance from random weights, with a covariance of two factors. */
function createQuadratic(seed: number, maximum: number, groups: readonly number[][] = []): ChosenQuadratic {
  const random = createCounterRandom({ seed, stream: 1 });
  const loadings = Array.from({ length: N }, () => [1 + 0.3 * random.normal(), random.normal()]);
  const specific = loadings.map(() => 0.3 + random.uniform());
  const matrix = Float64Array.from({ length: N * N }, (_, e) => {
    const [i, j] = [Math.floor(e / N), e % N];
    return loadings[i]![0]! * loadings[j]![0]! + loadings[i]![1]! * loadings[j]![1]! + (i === j ? specific[i]! : 0);
  });
  const size = loadings.map(() => Math.exp(random.normal()));
  const total = size.reduce((sum, value) => sum + value, 0);
  const linear = Float64Array.from(size, (_, i) =>
    size.reduce((sum, value, j) => sum + (matrix[i * N + j]! * value) / total, 0),
  );
  const all = Int32Array.from({ length: N }, (_, i) => i);
  return {
    n: N,
    matrix,
    linear,
    sum: 1,
    lower: new Float64Array(N),
    upper: new Float64Array(N).fill(1),
    needed: new Uint8Array(N),
    counts: [
      { members: all, maximum },
      ...groups.map((members) => ({ members: Int32Array.from(members), maximum: 1 })),
    ],
  };
}

const ORDERS = [Array.from({ length: N }, (_, i) => i)];

/** Returns the minimum over all choices within the bounds and counts, by enumeration. */
function leastOf(problem: ChosenQuadratic): number {
  const { evaluate } = createSwapMoves(plainAlgebra, problem);
  let least = Infinity;
  for (let bits = 1; bits < 2 ** N; bits++) {
    const chosen = Uint8Array.from({ length: N }, (_, i) => (bits >> i) & 1);
    if (problem.needed.some((isNeeded, i) => isNeeded > chosen[i]!)) continue;
    const isOver = ({ members, maximum }: { members: Int32Array; maximum: number }) =>
      members.reduce((count, i) => count + chosen[i]!, 0) > maximum;
    if (problem.counts.some(isOver)) continue;
    const { names, x, value } = evaluate(chosen)!;
    if (x.every((weight, place) => weight >= problem.lower[names[place]!]! && weight <= problem.upper[names[place]!]!))
      least = Math.min(least, value);
  }
  return least;
}

test.each([1, 2, 3])('finds the best of all choices, seed %i', (seed) => {
  const groups = [
    [0, 1, 2],
    [3, 4, 5],
  ];
  const plain = createQuadratic(seed, 4);
  const problems = [
    plain,
    createQuadratic(seed, 4, groups),
    { ...plain, needed: Uint8Array.from({ length: N }, (_, i) => (i === 7 ? 1 : 0)) },
    { ...plain, lower: new Float64Array(N).fill(0.1) },
    { ...plain, upper: new Float64Array(N).fill(0.7) },
  ];
  for (const problem of problems)
    expect(searchSwaps(plainAlgebra, problem, ORDERS, WORK)!.value).toBeCloseTo(leastOf(problem), 8);
});

test('the change of each move equals that of the optimum', () => {
  const { evaluate, listBest } = createSwapMoves(plainAlgebra, createQuadratic(4, 4));
  const at = evaluate(Uint8Array.from({ length: N }, (_, i) => (i < 4 ? 1 : 0)))!;
  const moves = listBest(at);
  expect(moves.length).toBeGreaterThan(0);
  for (const { place, incoming, change } of moves) {
    const chosen = at.chosen.slice();
    chosen[at.names[place]!] = 0;
    chosen[incoming] = 1;
    expect(evaluate(chosen)!.value - at.value).toBeCloseTo(change, 6);
  }
});

test('a search ends when its work is used up, and no choice within the bounds is reported', () => {
  const problem = createQuadratic(5, 4);
  const [first, whole] = [1, WORK].map((work) => searchSwaps(plainAlgebra, problem, ORDERS, work)!);
  expect(first!.value).toBeGreaterThan(whole!.value);
  const narrow = { ...problem, upper: new Float64Array(N).fill(0.01) };
  expect(searchSwaps(plainAlgebra, narrow, ORDERS, WORK)).toBeUndefined();
});
