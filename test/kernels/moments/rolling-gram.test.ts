import { describe, expect, test } from 'vitest';
import { referenceEngine } from '#kernels/engines/reference.js';
import { expandCovariance, estimateLowRankCovariance } from '#kernels/moments/low-rank-covariance.js';
import { createRollingGram, shrinkGram } from '#kernels/moments/rolling-gram.js';
import { seeded } from '../../seeded.js';

const random = seeded(3);
const NAMES = 7;
const values = Float64Array.from({ length: 400 * NAMES }, () => 0.02 * (random() - 0.48));
const names = Int32Array.from({ length: NAMES }, (_, i) => i);
const createRowRange = (from: number, count: number) => Int32Array.from({ length: count }, (_, t) => from + t);
const read = (rows: Int32Array, out: Float64Array) =>
  rows.forEach((row, t) => out.set(values.subarray(row * NAMES, row * NAMES + NAMES), t * NAMES));

/** Computes the sum from its definition: every product of every row. */
function computeByDefinition(rows: Int32Array): number[] {
  return Array.from({ length: NAMES * NAMES }, (_, e) =>
    rows.reduce(
      (sum, row) => sum + values[row * NAMES + Math.floor(e / NAMES)]! * values[row * NAMES + (e % NAMES)]!,
      0,
    ),
  );
}

describe('createRollingGram', () => {
  test('a rolling window has the moments of its rows, whatever the earlier windows', () => {
    const rollingGram = createRollingGram(referenceEngine);
    for (let step = 0; step < 40; step++) {
      const rows = createRowRange(step * 6, 100 + (step % 3));
      const { products, sums } = rollingGram.over(names, rows, read);
      const expected = computeByDefinition(rows);
      for (let i = 0; i < NAMES; i++) {
        for (let j = i; j < NAMES; j++)
          expect(Math.abs(products[i * NAMES + j]! - expected[i * NAMES + j]!)).toBeLessThan(1e-15);
        expect(sums[i]).toBeCloseTo(
          rows.reduce((sum, row) => sum + values[row * NAMES + i]!, 0),
          14,
        );
      }
    }
  });

  test('reads the added and removed rows, and all rows after twelve updates, so that rounding does not accumulate', () => {
    const rollingGram = createRollingGram(referenceEngine);
    const readings = Array.from({ length: 15 }, (_, step) => {
      let count = 0;
      rollingGram.over(names, createRowRange(step * 5, 100), (rows, out) => {
        count += rows.length;
        read(rows, out);
      });
      return count;
    });
    expect(readings).toEqual([100, ...Array.from({ length: 12 }, () => 10), 100, 10]);
  });

  test('reads all rows when more than a quarter of them change', () => {
    const rollingGram = createRollingGram(referenceEngine);
    rollingGram.over(names, createRowRange(0, 100), read);
    let count = 0;
    rollingGram.over(names, createRowRange(13, 100), (rows, out) => {
      count += rows.length;
      read(rows, out);
    });
    expect(count).toBe(100);
  });

  test('a window resumed from any point of its history is bit-identical', () => {
    const windows = Array.from({ length: 30 }, (_, step) => createRowRange(step * 6 + (step === 17 ? 60 : 0), 100));
    const wholeGram = createRollingGram(referenceEngine);
    const bits = windows.map((rows) => {
      const { products, sums } = wholeGram.over(names, rows, read);
      return [...products, ...sums];
    });
    for (let cut = 1; cut < windows.length; cut++) {
      const before = createRollingGram(referenceEngine);
      for (const rows of windows.slice(0, cut)) before.over(names, rows, read);
      const after = createRollingGram(referenceEngine, structuredClone(before.history()));
      expect(after.history()).toEqual(before.history());
      windows.slice(cut).forEach((rows, k) => {
        const { products, sums } = after.over(names, rows, read);
        expect([...products, ...sums]).toEqual(bits[cut + k]);
      });
      expect(after.history()).toEqual(wholeGram.history());
    }
  });

  test('other assets cause a full computation', () => {
    const rollingGram = createRollingGram(referenceEngine);
    const rows = createRowRange(0, 50);
    rollingGram.over(names, rows, read);
    const twoColumns = Int32Array.of(2, 5);
    const { products } = rollingGram.over(twoColumns, rows, (some, out) =>
      some.forEach((row, t) => twoColumns.forEach((name, k) => (out[t * 2 + k] = values[row * NAMES + name]!))),
    );
    expect(products[1]).toBeCloseTo(computeByDefinition(rows)[2 * NAMES + 5]!, 15);
  });
});

describe('shrinkGram', () => {
  test('is the shrunk covariance of the panel', () => {
    const rows = createRowRange(10, 60);
    const panel = new Float64Array(60 * NAMES);
    read(rows, panel);
    const out = new Float64Array(NAMES * NAMES);
    shrinkGram(createRollingGram(referenceEngine).over(names, rows, read), 60, 252, out);
    const expected = new Float64Array(NAMES * NAMES);
    expandCovariance(
      referenceEngine,
      estimateLowRankCovariance(referenceEngine, panel, NAMES, {
        target: 'constant_correlation',
        intensity: null,
        method: 'shape',
        scale: 252,
      }),
      expected,
    );
    out.forEach((value, e) => expect(Math.abs(value - expected[e]!)).toBeLessThan(1e-14));
  });
});
