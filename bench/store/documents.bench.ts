import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { spread } from '../percentiles.js';

/**
 * Durable writes of documents of 3 KiB beside the floor below them: one appended block and one fdatasync in the same folder.
 * Then reads, a listing, and how long a start takes with all of them stored.
 */
const MS = 2000;
const DOCUMENTS = 20_000;
const TEXT = 'x'.repeat(3000);

const folder = await mkdtemp(join(tmpdir(), 'bench-'));
const onFailure = (cause: unknown): never => {
  throw cause;
};
let home = await openHome(folder);
let store = await openStore({ home, onFailure });

async function measureWriters(writers: number, write: (serial: number) => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  let serial = 0;
  const end = performance.now() + MS;
  await Promise.all(
    Array.from({ length: writers }, async () => {
      while (performance.now() < end) {
        const start = performance.now();
        await write(serial++);
        times.push(performance.now() - start);
      }
    }),
  );
  return `${((times.length / MS) * 1000).toFixed(0).padStart(7)} /s   ${spread(times)}`;
}

const put = (serial: number): Promise<unknown> =>
  store.documents.transaction((tx) => tx.put('index', `doc-${serial % 500}`, { serial, text: TEXT }));

const floor = await open(join(folder, 'floor'), 'w');
console.log(
  `block and fdatasync, one writer  ${await measureWriters(1, async () => {
    await floor.write(Buffer.alloc(4096));
    await floor.datasync();
  })}`,
);
await floor.close();
for (const writers of [1, 16, 64])
  console.log(`documents, ${String(writers).padStart(2)} writers           ${await measureWriters(writers, put)}`);

await store.documents.transaction(async (tx) => {
  for (let i = 0; i < DOCUMENTS; i++) await tx.put('run', `doc-${i}`, { serial: i, text: TEXT });
});
let start = performance.now();
let sink = 0;
for (let i = 0; i < DOCUMENTS; i++)
  sink += JSON.stringify(await store.documents.get('run', `doc-${(i * 7919) % DOCUMENTS}`)).length;
console.log(
  `reads with checksum              ${(DOCUMENTS / ((performance.now() - start) / 1000)).toFixed(0).padStart(7)} /s   ${sink > 0}`,
);
start = performance.now();
const { documents } = await store.documents.list('run', (body) => body);
console.log(`listing of ${documents.length}                 ${(performance.now() - start).toFixed(0).padStart(7)} ms`);
await store.close();
await home.close();
start = performance.now();
home = await openHome(folder);
store = await openStore({ home, onFailure });
console.log(
  `start with ${DOCUMENTS} documents      ${(performance.now() - start).toFixed(0).padStart(7)} ms, the walk in a child process included`,
);
await store.close();
await home.close();
await rm(folder, { recursive: true });
