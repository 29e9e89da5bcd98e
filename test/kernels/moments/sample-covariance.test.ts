import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { computeSampleCovariance, fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';
import { createMatrices } from '../arbitraries.js';
import { expectCovariance } from '../closeness.js';
import { readGolden } from '../golden.js';

export interface CovarianceCase {
  name: string;
  observations: number;
  assets: number;
  returns: number[];
  covariance: number[];
  half_life: number;
  weighted_covariance: number[];
  eigenvalues: number[];
  sklearn_ledoit_wolf_ddof0: { intensity: number; covariance: number[] };
}

describe('computeSampleCovariance', () => {
  test.each(readGolden<CovarianceCase[]>('covariance'))(
    'agrees with numpy: $name',
    ({ returns, assets, covariance }) => {
      const out = new Float64Array(assets * assets);
      computeSampleCovariance(Float64Array.from(returns), assets, out);
      expectCovariance(out, covariance, assets, 1e-12);
    },
  );

  test.each(readGolden<CovarianceCase[]>('covariance'))(
    'agrees with numpy under half-life weights: $name',
    (example) => {
      const weights = new Float64Array(example.observations);
      fillHalfLifeWeights(example.half_life, weights);
      const out = new Float64Array(example.assets ** 2);
      computeSampleCovariance(Float64Array.from(example.returns), example.assets, out, { weights });
      expectCovariance(out, example.weighted_covariance, example.assets, 1e-12);
    },
  );

  test('is exactly symmetric, and permuting the securities permutes it bit for bit', () => {
    fc.assert(
      fc.property(createMatrices({ rowsMin: 2, columnsMin: 2 }), ({ rows, columns, data }) => {
        const transposedMatrix = Float64Array.from(
          data,
          (_, i) => data[Math.floor(i / columns) * columns + (columns - 1 - (i % columns))]!,
        );
        const out = computeCovariance(data, columns);
        const permutedCovariance = computeCovariance(transposedMatrix, columns);
        expect(rows).toBeGreaterThanOrEqual(2);
        for (let i = 0; i < columns; i++) {
          for (let j = 0; j < columns; j++) {
            expect(out[i * columns + j]).toBe(out[j * columns + i]);
            expect(permutedCovariance[(columns - 1 - i) * columns + (columns - 1 - j)]).toBe(out[i * columns + j]);
          }
        }
      }),
    );
  });

  test('gives a constant security zero variance and duplicated securities equal rows', () => {
    const out = computeCovariance(Float64Array.of(0.5, 1, 1, 0.5, 2, 2, 0.5, 4, 4), 3);
    expect([...out.subarray(0, 3)]).toEqual([0, 0, 0]);
    expect(out[4]).toBe(out[5]);
    expect(out[4]).toBe(out[8]);
  });

  test('refuses one observation', () => {
    expect(() => computeCovariance(Float64Array.of(1, 2), 2)).toThrow(KernelFault);
  });
});

function computeCovariance(data: Float64Array, assets: number): Float64Array {
  const out = new Float64Array(assets * assets);
  computeSampleCovariance(data.slice(), assets, out);
  return out;
}
