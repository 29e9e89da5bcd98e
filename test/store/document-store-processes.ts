import { describe, expect, test } from 'vitest';
import type { DocumentEngine } from '#store/port.js';
import { readBody, type Stores } from './document-store-world.js';
import { waitFor } from '../waiting.js';

/** Tests engines that several processes open concurrently. */
export function describeProcesses(stores: Stores): void {
  async function openPair(): Promise<readonly [DocumentEngine, DocumentEngine]> {
    const { store, beside } = await stores.open();
    return [store, await beside!()];
  }

  describe('stores of two processes', () => {
    test('read acknowledged writes of the other, also of documents that they have read before', async () => {
      const sides = await openPair();
      for (let n = 0; n < 60; n++) {
        const [writer, reader] = n % 2 === 0 ? sides : sides.toReversed();
        const before = await reader!.revision('index');
        await writer!.transaction<unknown>((tx) =>
          n % 7 === 6 ? tx.delete('index', 'a') : tx.put('index', 'a', { n }),
        );
        const document = await reader!.get('index', 'a');
        if (n % 7 === 6) expect(document).toBeUndefined();
        else expect(readBody(document)).toEqual({ n });
        expect(await reader!.ids('index')).toEqual(n % 7 === 6 ? [] : ['a']);
        expect((await reader!.list('index', (body) => body)).documents).toEqual(n % 7 === 6 ? [] : [{ n }]);
        expect(await reader!.revision('index')).toBeGreaterThan(before);
      }
    });

    test('lose no update of each other', async () => {
      const sides = await openPair();
      await sides[0].transaction((tx) => tx.put('index', 'count', { n: 0 }));
      await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          sides[i % 2]!.transaction(async (tx) => {
            const { n } = readBody<{ n: number }>(await tx.get('index', 'count'));
            await tx.put('index', 'count', { n: n + 1 });
          }),
        ),
      );
      for (const side of sides) expect(readBody(await side.get('index', 'count'))).toEqual({ n: 100 });
    });

    test('receive the events of each other once, in order of the commits', async () => {
      const sides = await openPair();
      const heardEvents = sides.map((side) => {
        const ids: string[] = [];
        side.subscribe('run-stored', ({ run_id: id }) => ids.push(id));
        return ids;
      });
      for (let n = 0; n < 20; n++)
        await sides[n % 2]!.transaction(async (tx) => {
          await tx.put('run', `r${n}`, {});
          tx.publish({ type: 'run-stored', run_id: String(n) });
        });
      for (const ids of heardEvents) {
        await waitFor(() => expect(ids).toHaveLength(20));
        for (const odd of [0, 1])
          expect(ids.filter((id) => Number(id) % 2 === odd)).toEqual(
            Array.from({ length: 10 }, (_, i) => String(2 * i + odd)),
          );
      }
    });

    test('have one list of referenced artifacts', async () => {
      const [one, other] = await openPair();
      const artifact = { name: `${'1'.repeat(32)}.art`, bytes: 1, sha256: '1'.repeat(64) };
      await one.transaction((tx) => tx.put('run', 'a', { result: artifact }));
      expect([...(await other.referencedArtifacts())]).toEqual([artifact.name]);
      await other.transaction((tx) => tx.delete('run', 'a'));
      expect([...(await one.referencedArtifacts())]).toEqual([]);
    });

    test('are closed separately', async () => {
      const [one, other] = await openPair();
      await one.close();
      await other.transaction((tx) => tx.put('index', 'a', {}));
      expect(await other.ids('index')).toEqual(['a']);
    });
  });
}
