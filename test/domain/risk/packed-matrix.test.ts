import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import {
  computeCorrelationRow,
  computeVolatilities,
  openPackedMatrix,
  packUpper,
  unpackRow,
} from '#domain/risk/stored-models.js';
import { positiveDefinite } from '../../kernels/arbitraries.js';

describe('a packed matrix', () => {
  test('returns every row', () => {
    fc.assert(
      fc.property(positiveDefinite, ({ order, a }) => {
        const packedMatrix = openPackedMatrix(packUpper(a, order), order);
        expect(packedMatrix.upper).toHaveLength((order * (order + 1)) / 2);
        const row = new Float64Array(order);
        for (let i = 0; i < order; i++) {
          unpackRow(packedMatrix, i, row);
          expect([...row]).toEqual([...a.subarray(i * order, (i + 1) * order)]);
        }
        expect([...computeVolatilities(packedMatrix)]).toEqual(
          Array.from({ length: order }, (_, i) => Math.sqrt(a[i * (order + 1)]!)),
        );
      }),
    );
  });

  test('has correlations with an exact unit diagonal, symmetric and never beyond 1', () => {
    fc.assert(
      fc.property(positiveDefinite, ({ order, a }) => {
        const packedMatrix = openPackedMatrix(packUpper(a, order), order);
        const volatilities = computeVolatilities(packedMatrix);
        const rows = Array.from({ length: order }, (_, i) => {
          const row = new Float64Array(order);
          computeCorrelationRow(packedMatrix, volatilities, i, row);
          return row;
        });
        rows.forEach((row, i) =>
          row.forEach((value, j) => {
            expect(value).toBe(rows[j]![i]);
            expect(Math.abs(value)).toBeLessThanOrEqual(1);
            if (i === j) expect(value).toBe(1);
          }),
        );
      }),
    );
  });

  test.each([1, -1])('clips a correlation that rounding moves beyond %d', (sign) => {
    const packedMatrix = openPackedMatrix(Float64Array.of(4, sign * 6 * (1 + Number.EPSILON), 9), 2);
    const row = new Float64Array(2);
    computeCorrelationRow(packedMatrix, computeVolatilities(packedMatrix), 0, row);
    expect([...row]).toEqual([1, sign]);
  });

  test('has correlation 0 between a security without variance and every other', () => {
    const packedMatrix = openPackedMatrix(Float64Array.of(4, 0, 0), 2);
    const row = new Float64Array(2);
    computeCorrelationRow(packedMatrix, computeVolatilities(packedMatrix), 1, row);
    expect([...row]).toEqual([0, 1]);
  });

  test('is refused when its length is that of another order', () => {
    expect(() => openPackedMatrix(new Float64Array(5), 3)).toThrow(/5 entries for a matrix of order 3/);
  });
});
