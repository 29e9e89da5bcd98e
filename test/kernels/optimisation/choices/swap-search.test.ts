import { expect, test } from 'vitest';
import { type ChosenQuadratic, createSwapMoves, searchSwaps } from '#kernels/optimisation/choices/swap-search.js';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

const N = 12;
const WORK = 1e6;

/** Returns the problem of the distance from random weights. Its covariance has two factors. */
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

/** Returns the minimum over all choices within the bounds and counts. It tries every choice. */
function findLeast(problem: ChosenQuadratic): number {
  const { evaluate } = createSwapMoves(plainAlgebra, problem);
  let lowest = Infinity;
  for (let bits = 1; bits < 2 ** N; bits++) {
    const chosenFlags = Uint8Array.from({ length: N }, (_, i) => (bits >> i) & 1);
    if (problem.needed.some((isNeeded, i) => isNeeded > chosenFlags[i]!)) continue;
    const isOver = ({ members, maximum }: { members: Int32Array; maximum: number }) =>
      members.reduce((count, i) => count + chosenFlags[i]!, 0) > maximum;
    if (problem.counts.some(isOver)) continue;
    const { names, x, value } = evaluate(chosenFlags)!;
    if (x.every((weight, place) => weight >= problem.lower[names[place]!]! && weight <= problem.upper[names[place]!]!))
      lowest = Math.min(lowest, value);
  }
  return lowest;
}

test.each([1, 2, 3])('finds the best of all choices, seed %i', (seed) => {
  const groups = [
    [0, 1, 2],
    [3, 4, 5],
  ];
  const plainProblem = createQuadratic(seed, 4);
  const problems = [
    plainProblem,
    createQuadratic(seed, 4, groups),
    { ...plainProblem, needed: Uint8Array.from({ length: N }, (_, i) => (i === 7 ? 1 : 0)) },
    { ...plainProblem, lower: new Float64Array(N).fill(0.1) },
    { ...plainProblem, upper: new Float64Array(N).fill(0.7) },
  ];
  for (const problem of problems)
    expect(searchSwaps(plainAlgebra, problem, ORDERS, WORK)!.value).toBeCloseTo(findLeast(problem), 8);
});

test('the change of each move equals that of the optimum', () => {
  const { evaluate, listBest } = createSwapMoves(plainAlgebra, createQuadratic(4, 4));
  const evaluation = evaluate(Uint8Array.from({ length: N }, (_, i) => (i < 4 ? 1 : 0)))!;
  const moves = listBest(evaluation);
  expect(moves.length).toBeGreaterThan(0);
  for (const { place, incoming, change } of moves) {
    const chosenFlags = evaluation.chosen.slice();
    chosenFlags[evaluation.names[place]!] = 0;
    chosenFlags[incoming] = 1;
    expect(evaluate(chosenFlags)!.value - evaluation.value).toBeCloseTo(change, 6);
  }
});

test('a search ends when its work is used up, and no choice within the bounds is reported', () => {
  const problem = createQuadratic(5, 4);
  const [shortSearch, wholeSearch] = [1, WORK].map((work) => searchSwaps(plainAlgebra, problem, ORDERS, work)!);
  expect(shortSearch!.value).toBeGreaterThan(wholeSearch!.value);
  const narrowProblem = { ...problem, upper: new Float64Array(N).fill(0.01) };
  expect(searchSwaps(plainAlgebra, narrowProblem, ORDERS, WORK)).toBeUndefined();
});
