import { expect, test } from 'vitest';
import { createPatch, listPatches, orderSweepParts, type Variation } from '#domain/studies/sweep.js';
import { selectCheckedFirst } from '#domain/studies/variant-checks.js';

const listRange = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const GRID = {
  '/request/a': [0, 1, 2],
  '/document/b': ['x', 'y'],
  '/request/c': listRange(5),
  '/document/d': listRange(4),
};
const listDrawnParts = (variation: Variation): number[] => {
  const parts = orderSweepParts(variation);
  return listRange(parts.count).flatMap((part) => parts.variants(part));
};

test('a variant of a grid is a combination, the last pointer varying fastest', () => {
  const variation = { grid: GRID, patches: null };
  const expected = [0, 1, 2].flatMap((a) =>
    ['x', 'y'].flatMap((b) =>
      listRange(5).flatMap((c) =>
        listRange(4).map((d) => ({ '/request/a': a, '/document/b': b, '/request/c': c, '/document/d': d })),
      ),
    ),
  );
  expect(listPatches(variation)).toEqual(expected);
});

test('each variant is in one part, and variants of one definition are adjacent', () => {
  const variation = { grid: GRID, patches: null };
  const order = listDrawnParts(variation);
  expect(order.toSorted((a, b) => a - b)).toEqual(listRange(120));
  const definitions = order.map((variant) => {
    const patch = createPatch(variation, variant);
    return `${String(patch['/document/b'])}${String(patch['/document/d'])}`;
  });
  const changes = definitions.filter((definition, i) => definition !== definitions[i - 1]).length;
  expect(changes).toBe(2 * 4);
  const listedVariation = { grid: null, patches: listPatches(variation) };
  expect(listDrawnParts(listedVariation).toSorted((a, b) => a - b)).toEqual(listRange(120));
});

test('the largest sweep has 5,000 parts', () => {
  const parts = orderSweepParts({
    grid: { '/request/a': listRange(1000), '/document/b': listRange(100) },
    patches: null,
  });
  expect([parts.count, parts.variants(0).length, parts.variants(4999).length]).toEqual([5000, 20, 20]);
});

test('of a large grid each value is checked first once, of a small grid every variant', () => {
  expect(selectCheckedFirst({ grid: GRID, patches: null })).toEqual(listRange(120));
  const large = { grid: { '/request/a': listRange(50), '/document/b': listRange(100) }, patches: null };
  const patches = selectCheckedFirst(large).map((variant) => createPatch(large, variant));
  expect(patches).toHaveLength(149);
  expect(new Set(patches.map((patch) => patch['/request/a'])).size).toBe(50);
  expect(new Set(patches.map((patch) => patch['/document/b'])).size).toBe(100);
  const long = { grid: { '/request/a': listRange(90_000) }, patches: null };
  expect(selectCheckedFirst(long).length).toBeLessThanOrEqual(2000);
});
