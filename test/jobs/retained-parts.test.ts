import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#jobs/port/clock.js';
import {
  type Claim,
  createRetainedPartsStore,
  type JobQueue,
  type QueueLimits,
  type RetainedPartsStore,
} from '#jobs/port/queue.js';
import { createLocalQueue } from '#jobs/local/queue.js';
import { createPostgresQueue } from '#jobs/distributed/queue.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import type { DocumentEngine, DocumentTransaction } from '#store/port.js';
import { hasPostgresql, openTestSchema } from '../postgresql/shared-postgresql.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { createJob, LEASE_MS, succeed } from './queue-port-world.js';
import { RETRIES_AT_ONCE } from './retries-at-once.js';

const quietLog = { info: () => {}, warn: () => {}, error: () => {} };
const limits: QueueLimits = {
  getRetryPolicy: RETRIES_AT_ONCE,
  queueMax: 9,
  ownerQueueMax: 9,
  endedMax: 9,
  jobBytesMax: 100,
  leaseMs: LEASE_MS,
};
const NAMES = ['00000000000000000000000000000001.art', '00000000000000000000000000000002.art'] as const;
const FILES = ['0000000000000000000000000000000a.art', '0000000000000000000000000000000b.art'] as const;
const createRefTo = (name: string) => ({ name, bytes: 1, sha256: 'ab'.repeat(32) });
const createParts = (count: number) =>
  NAMES.slice(0, count).map((name, part) => ({
    artifact: createRefTo(name),
    files: [createRefTo(FILES[part]!)],
    parts: [part],
  }));

interface World {
  readonly queue: JobQueue;
  readonly documents: DocumentEngine;
  close(): Promise<void>;
}

const engines: Readonly<Record<string, (onUnreferenced: (names: readonly string[]) => void) => Promise<World>>> = {
  async 'in a home'(onUnreferenced) {
    const documents = await openDocumentStore({ folder: await createTemporaryFolder(), onUnreferenced });
    const queue = createLocalQueue({ store: documents, clock: systemClock, limits, log: quietLog });
    return { queue, documents, close: () => documents.close() };
  },
  async 'on PostgreSQL'(onUnreferenced) {
    const { database, schema, drop } = await openTestSchema();
    const documents = await openPostgresDocuments({ database, schema, onUnreferenced });
    const place = { database, schema: `"${schema}"`, node: 'own', clock: systemClock };
    const queue = createPostgresQueue({ ...place, documents, limits, log: quietLog });
    return {
      queue,
      documents,
      async close() {
        await queue.close();
        await documents.close();
        await drop();
      },
    };
  },
};

describe.each(Object.keys(engines))('outputs of parts that are kept %s', (name) => {
  const isThere = hasPostgresql || name === 'in a home';
  let world: World;
  let keeper: RetainedPartsStore;
  const unreferencedNames: string[] = [];
  beforeEach(async () => {
    if (!isThere) return;
    unreferencedNames.length = 0;
    world = await engines[name]!((names) => void unreferencedNames.push(...names));
    keeper = createRetainedPartsStore(world.documents, '1');
    await world.queue.join({
      onWork: () => {},
      findProgress: () => undefined,
      getFreeCapacity: () => ({ lanes: ['heavy'], freeBytes: 100 }),
    });
    await world.queue.submit(createJob('s', { jobId: 'sweep:s', kind: 'sweep' }));
  });
  afterEach(() => world?.close());

  const requireClaim = async (): Promise<Claim> =>
    (await world.queue.claim({ lane: 'heavy', exceptOwners: new Set(), freeBytes: 100, take: () => true }))!;
  const findKeptParts = ({ lease, input }: Claim, by = keeper) => by.of(lease, input!);

  test.runIf(isThere)('are available to the next attempt, by the same version only', async () => {
    const first = await requireClaim();
    expect(findKeptParts(first).earlier).toEqual([]);
    expect(await findKeptParts(first).keep(createParts(2))).toBe(true);
    expect([...(await world.documents.referencedArtifacts())].toSorted()).toEqual([...NAMES, ...FILES]);
    await world.queue.complete(first.lease, { type: 'release', cause: 'the test asks' });
    const second = await requireClaim();
    expect(findKeptParts(second).earlier).toEqual(createParts(2));
    expect(findKeptParts(second, createRetainedPartsStore(world.documents, '2')).earlier).toEqual([]);
    expect(await findKeptParts(first).keep(createParts(1)), 'of an attempt that was given up').toBe(false);
    expect(unreferencedNames).toEqual([]);
  });

  test.runIf(isThere).each(['succeeds', 'is cancelled'])('are deleted when the job %s', async (how) => {
    const { lease, input } = await requireClaim();
    await keeper.of(lease, input!).keep(createParts(2));
    if (how === 'succeeds') await world.queue.complete(lease, succeed);
    else await world.queue.cancel(lease.jobId);
    expect(unreferencedNames.toSorted()).toEqual([...NAMES, ...FILES]);
    expect(await keeper.of(lease, input!).keep(createParts(1))).toBe(false);
  });

  test.runIf(isThere)('are kept with the documents of an effect that names their files', async () => {
    const { lease, input } = await requireClaim();
    await keeper.of(lease, input!).keep(createParts(2));
    const writeEffect = async (tx: DocumentTransaction) =>
      void (await tx.put('run', 'X', { columns: createRefTo(FILES[1]) }));
    await world.queue.complete(lease, { ...succeed, effect: writeEffect });
    expect(unreferencedNames.toSorted()).toEqual([...NAMES, FILES[0]]);
    expect([...(await world.documents.referencedArtifacts())]).toEqual([FILES[1]]);
  });

  test.runIf(isThere)('are kept with a failed job for its retry', async () => {
    const { lease, input } = await requireClaim();
    await keeper.of(lease, input!).keep(createParts(2));
    await world.queue.complete(lease, { type: 'fail', error: { code: 'JOB_TIMEOUT', message: 'Late.', detail: null } });
    expect(unreferencedNames).toEqual([]);
    await world.queue.retry(lease.jobId);
    expect(findKeptParts(await requireClaim()).earlier).toEqual(createParts(2));
  });
});
