import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import {
  computeSampleCovariance,
  demean,
  fillHalfLifeWeights,
  visitExponentialCovariances,
  visitRollingCovariances,
} from '#kernels/moments/sample-covariance.js';
import { createMatrices } from '../arbitraries.js';
import { expectClose, expectCovariance } from '../closeness.js';
import { createRandomPanel } from '../engines/random-matrices.js';

function computeMoments(rows: Float64Array, columns: number, weights?: Float64Array) {
  const means = new Float64Array(columns);
  demean(rows.slice(), columns, weights, means);
  const covariance = new Float64Array(columns * columns);
  computeSampleCovariance(rows.slice(), columns, covariance, weights === undefined ? {} : { weights });
  return { means, covariance };
}

describe.each([
  ['definitions', referenceEngine],
  ['WebAssembly', openWasmEngine()],
] as const)('running covariances by %s', (_, engine) => {
  test('of a moving window are those of the window', () => {
    fc.assert(
      fc.property(
        createMatrices({ rowsMin: 2, rowsMax: 40, columnsMin: 1, columnsMax: 4 }),
        fc.integer({ min: 2, max: 9 }),
        ({ rows, columns, data }, window) => {
          let visits = 0;
          visitRollingCovariances(engine, data, columns, window, (last, means, covariance) => {
            const expected = computeMoments(data.slice((last - window + 1) * columns, (last + 1) * columns), columns);
            expectClose(means, expected.means, 1e-12, 10);
            expectClose(covariance, expected.covariance, 1e-12, 100);
            visits++;
          });
          expect(visits).toBe(Math.max(0, rows - window + 1));
        },
      ),
    );
  });

  test('do not lose digits over ten thousand steps', () => {
    const panel = createRandomPanel(10_000, 3).map((value) => 1e3 + value);
    let last = new Float64Array(9);
    visitRollingCovariances(engine, panel, 3, 250, (__, ___, covariance) => (last = covariance.slice()));
    expectCovariance(last, computeMoments(panel.slice(9750 * 3), 3).covariance, 3, 1e-9);
  });

  test('do not lose digits if the level moves far from its start', () => {
    const panel = createRandomPanel(1_000, 2, 4).map((value, i) => value + (i < 800 ? 0 : 1e7));
    let last = new Float64Array(4);
    visitRollingCovariances(engine, panel, 2, 100, (__, ___, covariance) => (last = covariance.slice()));
    const movedPanel = panel.slice(900 * 2);
    expectCovariance(
      last,
      computeMoments(
        movedPanel.map((value) => value - 1e7),
        2,
      ).covariance,
      2,
      1e-7,
    ); // float64 values near 1e7 keep about nine decimals
  });

  test('with decaying weights are those of half-life weights', () => {
    const panel = createRandomPanel(60, 4, 3);
    visitExponentialCovariances(engine, panel, 4, 12, (last, means, covariance) => {
      const weights = new Float64Array(last + 1);
      fillHalfLifeWeights(12, weights);
      const expected = computeMoments(panel.slice(0, (last + 1) * 4), 4, weights);
      expectClose(means, expected.means, 1e-12);
      expectCovariance(covariance, expected.covariance, 4, 1e-11);
    });
  });

  test('of a constant are 0', () => {
    visitRollingCovariances(engine, new Float64Array(20).fill(0.1), 1, 5, (__, means, covariance) =>
      expect([means[0], covariance[0]]).toEqual([expect.closeTo(0.1, 15), expect.closeTo(0, 30)]),
    );
  });

  test('refuse a window of one and a half-life of zero', () => {
    expect(() => visitRollingCovariances(engine, new Float64Array(4), 1, 1, () => {})).toThrow(KernelFault);
    expect(() => visitExponentialCovariances(engine, new Float64Array(4), 1, 0, () => {})).toThrow(KernelFault);
  });
});
