import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { createLevelBins, findBinQuantile } from '#kernels/simulation/simulate-paths.js';

const MEAN = 0.0004;
const DEVIATION = 0.012;

describe('bins of levels', () => {
  test('give the quantiles of the sorted levels to a bin and the gap between two paths', () => {
    const horizon = 60;
    const paths = 20_000;
    const bins = createLevelBins({ mean: MEAN, deviation: DEVIATION, horizon, count: 2048 });
    const tallies = {
      counts: new Uint32Array(horizon * 2048),
      finals: new Float64Array(paths),
      lows: new Float64Array(paths),
      drawdowns: new Float64Array(paths),
      underwater: new Int32Array(paths),
    };
    openWasmEngine().simulatePaths(
      { model: { kind: 'gaussian', mean: MEAN, deviation: DEVIATION }, horizon, seed: 1, first: 0, bins },
      tallies,
    );
    const sortedFinals = tallies.finals.slice().sort();
    for (const share of [0.01, 0.05, 0.5, 0.95, 0.99]) {
      const rank = Math.floor(share * paths);
      const spread = sortedFinals[rank + 5]! - sortedFinals[rank - 5]!;
      expect(
        Math.abs(findBinQuantile(bins, tallies.counts, horizon - 1, share) - sortedFinals[rank]!),
      ).toBeLessThanOrEqual(1 / bins.scale[horizon - 1]! + spread);
    }
  });

  test('are 0.6 % of a standard deviation wide', () => {
    const bins = createLevelBins({ mean: 0, deviation: 0.01, horizon: 1, count: 2048 });
    expect(1 / bins.scale[0]! / 0.01).toBeLessThan(0.0063);
  });

  test('hold a path without any movement', () => {
    const bins = createLevelBins({ mean: 0, deviation: 0, horizon: 3, count: 10 });
    const counts = new Uint32Array(30);
    counts[25] = 4;
    expect(findBinQuantile(bins, counts, 2, 0.5)).toBeCloseTo(1, 8);
  });

  test('skip empty bins and interpolate inside the others', () => {
    const bins = { low: Float64Array.of(0), scale: Float64Array.of(1), count: 4 };
    expect(findBinQuantile(bins, Uint32Array.of(1, 0, 0, 1), 0, 0.5)).toBe(1);
    expect(findBinQuantile(bins, Uint32Array.of(0, 4, 0, 0), 0, 0.25)).toBe(1.25);
  });

  test('are refused if invalid, and have no quantile without values', () => {
    expect(() => createLevelBins({ mean: 0, deviation: -1, horizon: 3, count: 10 })).toThrow(KernelFault);
    expect(() => createLevelBins({ mean: Number.NaN, deviation: 1, horizon: 3, count: 10 })).toThrow(KernelFault);
    expect(() =>
      findBinQuantile(createLevelBins({ mean: 0, deviation: 1, horizon: 1, count: 2 }), new Uint32Array(2), 0, 0.5),
    ).toThrow(KernelFault);
  });
});
