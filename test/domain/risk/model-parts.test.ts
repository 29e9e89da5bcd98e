import { expect, test } from 'vitest';
import { countTriangleEntries } from '#kernels/moments/panel-covariance.js';
import { MODEL_PARTS, divideModel, computePartLength } from '#domain/risk/model-parts.js';

test.each([1, 5, 64, 200, 6_000])('the parts of a model of %i securities contain every row once', (assets) => {
  const cuts = divideModel(assets);
  expect(cuts).toHaveLength(MODEL_PARTS + 1);
  expect([cuts[0], cuts.at(-1)]).toEqual([0, assets]);
  expect([...cuts]).toEqual([...cuts].toSorted((a, b) => a - b));
  const lengths = Array.from({ length: MODEL_PARTS }, (_, part) => computePartLength(assets, cuts, part));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  expect(total).toBe(countTriangleEntries(assets, 0, assets) + assets + MODEL_PARTS);
});

test('the parts of a large model have about the same number of entries', () => {
  const assets = 12_000;
  const cuts = divideModel(assets);
  const share = countTriangleEntries(assets, 0, assets) / MODEL_PARTS;
  for (let part = 0; part < MODEL_PARTS; part++)
    expect(Math.abs(computePartLength(assets, cuts, part) - share)).toBeLessThan(2 * assets);
});
