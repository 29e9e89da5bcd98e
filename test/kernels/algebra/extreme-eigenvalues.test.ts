import { expect, test } from 'vitest';
import { findExtremeEigenvalues } from '#kernels/engines/extreme-eigenvalues.js';
import { referenceEngine as plain } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { expectEqual } from '../../equal.js';
import { expectClose } from '../closeness.js';
import { createRandomDefinite } from '../engines/random-matrices.js';

const N = 90;
const engine = openWasmEngine();

/** Creates the covariance of returns with a common part, shrunk to its diagonal. */
function createMarket(common: number): Float64Array {
  const random = createCounterRandom({ seed: 4, stream: 0 });
  const panel = new Float64Array(2 * N * N);
  for (let t = 0; t < 2 * N; t++) {
    const commonReturn = common * random.normal();
    for (let i = 0; i < N; i++) panel[t * N + i] = commonReturn + (0.2 + i / N) * random.normal();
  }
  const out = new Float64Array(N * N);
  plain.symmetricRankK(panel, N, out);
  return out.map((value, i) => (i % (N + 1) === 0 ? value : 0.8 * value));
}

/** Equal blocks on the diagonal. Therefore every eigenvalue is repeated. */
const blocks = Float64Array.from({ length: N * N }, (_, index) => {
  const [i, j] = [Math.floor(index / N), index % N];
  if (i === j) return 1;
  return Math.floor(i / 5) === Math.floor(j / 5) ? 0.3 : 0;
});

/**
 * Matrix whose eigenvalues are all equal, except the smallest and the largest. The eigenvectors of these two are unit
 * vectors.
 */
const extremeMatrix = Float64Array.from({ length: N * N }, (_, index) => {
  if (index % (N + 1) !== 0) return 0;
  if (index === 0) return 0.99;
  return index === N * N - 1 ? 1.01 : 1;
});

test.each([
  ['of a market', createMarket(3)],
  ['without a common part', createMarket(0)],
  ['of entries of different size', createRandomDefinite(N)],
  ['of equal blocks', blocks],
  ['of two coordinates', extremeMatrix],
  ['of one number', Float64Array.of(0.3)],
] as const)('extreme eigenvalues are those of the definition: %s', (_, a) => {
  const n = Math.sqrt(a.length);
  const before = a.slice();
  const values = new Float64Array(n);
  plain.symmetricEigenvalues(a, n, values);
  const { smallest, largest } = findExtremeEigenvalues(engine, a, n)!;
  expectClose([smallest, largest], [values[0]!, values[n - 1]!], 1e-14 * Math.sqrt(n));
  expectEqual(a, before);
});

test('a matrix that is not positive definite, nearly singular or not finite has no result and is restored', () => {
  const changeEntry = (index: number, value: number): Float64Array =>
    createMarket(1).map((entry, k) => (k === index ? value : entry));
  const singularMarket = createMarket(1);
  for (let i = 0; i < N; i++) singularMarket[i] = singularMarket[i * N] = singularMarket[N + i]!;
  singularMarket[0] = singularMarket[N + 1]! * (1 + 1e-12);
  for (const a of [
    changeEntry(0, -1),
    changeEntry(N + 1, Number.NaN),
    changeEntry(0, Infinity),
    singularMarket,
    new Float64Array(4),
  ]) {
    const before = a.slice();
    expect(findExtremeEigenvalues(engine, a, Math.sqrt(a.length))).toBeUndefined();
    expectEqual(a, before);
  }
});
