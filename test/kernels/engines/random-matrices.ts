import { referenceEngine as plain } from '#kernels/engines/reference.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

/** Returns a panel whose columns differ by orders of magnitude, like volatilities. */
export function createRandomPanel(rows: number, columns: number, seed = 1): Float64Array {
  const random = createCounterRandom({ seed, stream: rows * 1000 + columns });
  const scales = Float64Array.from({ length: columns }, () => 10 ** (3 * random.uniform() - 2));
  return Float64Array.from({ length: rows * columns }, (_, i) => random.normal() * scales[i % columns]!);
}

export function createRandomSymmetric(n: number, seed = 2): Float64Array {
  const values = createRandomPanel(n, n, seed);
  return values.map((_, i) => values[Math.max(Math.floor(i / n), i % n) * n + Math.min(Math.floor(i / n), i % n)]!);
}

/** Returns a positive definite matrix with a good condition. */
export function createRandomDefinite(n: number): Float64Array {
  const panel = createRandomPanel(n + 8, n, 3).map((value) => value);
  const out = new Float64Array(n * n);
  plain.symmetricRankK(panel, n, out);
  for (let i = 0; i < n; i++) out[i * (n + 1)]! *= 1.5;
  return out;
}
