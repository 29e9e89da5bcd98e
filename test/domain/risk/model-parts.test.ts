import { expect, test } from 'vitest';
import { countTriangleEntries } from '#kernels/moments/panel-covariance.js';
import { computeFileBytes, divideModel, MODEL_PARTS } from '#domain/risk/estimation.js';

test.each([1, 5, 64, 200, 6_000])('the parts of a model of %i securities contain every row once', (assets) => {
  const cuts = divideModel(assets);
  expect(cuts).toHaveLength(MODEL_PARTS + 1);
  expect([cuts[0], cuts.at(-1)]).toEqual([0, assets]);
  expect([...cuts]).toEqual([...cuts].toSorted((a, b) => a - b));
  const files = computeFileBytes(assets);
  expect(files).toHaveLength(MODEL_PARTS);
  expect(files.reduce((sum, bytes) => sum + bytes, 0)).toBe(8 * countTriangleEntries(assets, 0, assets));
});

test('the parts of a large model have about the same number of entries', () => {
  const assets = 12_000;
  const share = countTriangleEntries(assets, 0, assets) / MODEL_PARTS;
  for (const bytes of computeFileBytes(assets)) expect(Math.abs(bytes / 8 - share)).toBeLessThan(2 * assets);
});
