import { expect, test } from 'vitest';
import { sortFamily } from '#domain/outputs/daily-plans.js';
import { fc } from '../../fast-check.js';

const computeOrder = (ids: readonly string[], parents: Readonly<Record<string, readonly string[]>>) =>
  sortFamily(ids, (id) => parents[id] ?? []);

test('parents come before their derived indices, also through indices outside the plan', () => {
  const { waves, ancestors } = computeOrder(['BLEND', 'HEDGED', 'CORE', 'LOWVOL'], {
    LOWVOL: ['CORE'],
    HEDGED: ['OUTSIDE'],
    OUTSIDE: ['CORE'],
    BLEND: ['LOWVOL', 'HEDGED'],
  });
  expect(waves).toEqual([['CORE'], ['HEDGED', 'LOWVOL'], ['BLEND']]);
  expect([...ancestors.get('BLEND')!].toSorted()).toEqual(['CORE', 'HEDGED', 'LOWVOL']);
  expect([...ancestors.get('HEDGED')!]).toEqual(['CORE']);
});

test('a circle ends, with every index once', () => {
  const { waves } = computeOrder(['A', 'B', 'C'], { A: ['B'], B: ['A'] });
  expect(waves.flat().toSorted()).toEqual(['A', 'B', 'C']);
});

test('every family is ordered: each index once, after all of its ancestors', () => {
  const family = fc.array(fc.array(fc.nat({ max: 30 }), { maxLength: 4 }), { maxLength: 30 });
  fc.assert(
    fc.property(family, (parents) => {
      // Each index depends only on earlier indices, so there is no cycle.
      const listEarlierParents = (id: string) =>
        parents[Number(id)]!.filter((parent) => parent < Number(id)).map(String);
      const ids = parents.map((_, k) => String(k));
      const { waves } = sortFamily(ids, listEarlierParents);
      const waveIndices = new Map(waves.flatMap((wave, k) => wave.map((id) => [id, k] as const)));
      expect(waveIndices.size).toBe(ids.length);
      for (const id of ids)
        for (const parent of listEarlierParents(id))
          expect(waveIndices.get(parent)!).toBeLessThan(waveIndices.get(id)!);
    }),
  );
});
