import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#jobs/port/clock.js';
import type { Claim, ClaimOrder, JobQueue, OfferedParts } from '#jobs/port/queue.js';
import { listNodes } from '#jobs/distributed/nodes.js';
import { createPartRows, createSharedParts, type SharedParts } from '#jobs/distributed/parts.js';
import { createPulse } from '#jobs/distributed/presence.js';
import { createPostgresQueue } from '#jobs/distributed/queue.js';
import { openPostgresDocuments, type PostgresDocuments } from '#store/postgres/document-store.js';
import { hasPostgresql, openTestSchema, type TestSchema } from '../../postgresql/shared-postgresql.js';
import { createJob, LEASE_MS, succeed } from '../queue-port-world.js';
import { RETRIES_AT_ONCE } from '../retries-at-once.js';

const quietLog = { info: () => {}, warn: () => {}, error: () => {} };
const limits = {
  getRetryPolicy: RETRIES_AT_ONCE,
  queueMax: 9,
  ownerQueueMax: 9,
  endedMax: 9,
  jobBytesMax: 100,
  leaseMs: LEASE_MS,
};
const ORDER: ClaimOrder = { lane: 'heavy', exceptOwners: new Set(), freeBytes: 100, take: () => true };
const createRef = (name: string) => ({ name, bytes: 1, sha256: 'ab' });
const createSuccessWith = (name: string, files?: readonly string[]) =>
  ({
    type: 'succeed',
    result: { artifact: createRef(name), ...(files && { files: files.map(createRef) }) },
    message: '',
  }) as const;

describe.skipIf(!hasPostgresql)('parts of a running job', () => {
  let world: TestSchema;
  let documents: PostgresDocuments;
  let queue: JobQueue;
  let claim: Claim;
  beforeEach(async () => {
    world = await openTestSchema();
    documents = await openPostgresDocuments({ database: world.database, schema: world.schema });
    queue = createPostgresQueue({ ...createNodeOptions(), node: 'own', documents, limits, log: quietLog });
    await queue.submit(createJob('shared', { estimatedBytes: 50 }));
    claim = (await queue.claim(ORDER))!;
  });
  afterEach(async () => {
    await queue.close();
    await documents.close();
    await world.drop();
  });

  const createNodeOptions = () => ({ database: world.database, schema: `"${world.schema}"`, clock: systemClock });
  function createParts(node: string, version = '1', get: PostgresDocuments['get'] = documents.get): SharedParts {
    const { database, schema } = createNodeOptions();
    const rows = createPartRows(database, schema, { node, version: () => version });
    const parts = createSharedParts(rows, { get }, systemClock, LEASE_MS);
    parts.note(true);
    return parts;
  }
  const offerParts = async (count: number): Promise<OfferedParts> => {
    const parts = createParts('own');
    await parts.offer(claim.lease, listRange(count));
    return parts;
  };
  const listRange = (count: number): number[] => Array.from({ length: count }, (_, part) => part);

  test('are claimed once each, by the node of the job and by others', async () => {
    const offeredParts = await offerParts(20);
    const nodes = ['a', 'b', 'c'].map((name) => createParts(name));
    const takenParts: number[] = [];
    for (let isMore = true; isMore;) {
      const claims = await Promise.all(nodes.map((node) => node.claim(ORDER)));
      const returnedPart = await offeredParts.take(claim.lease);
      const round = [
        ...claims.flatMap((each) => each?.parts ?? []),
        ...(returnedPart === undefined ? [] : [returnedPart]),
      ];
      for (const node of nodes) node.note(true);
      isMore = round.length > 0;
      takenParts.push(...round);
    }
    expect(takenParts.toSorted((a, b) => a - b)).toEqual(listRange(20));
  });

  test('include the input of the job, and the outputs that others have written', async () => {
    const offeredParts = await offerParts(2);
    const other = createParts('other');
    const part = (await other.claim(ORDER))!;
    expect(part).toMatchObject({
      job: { job_id: 'backtest:shared' },
      input: { payload: { of: 'shared' } },
      parts: [0],
    });
    expect(await offeredParts.remaining(claim.lease)).toEqual([0, 1]);
    expect(await offeredParts.collect(claim.lease)).toEqual([]);
    expect(await other.complete(part.lease, createSuccessWith('outputs', ['columns', 'plan']))).toBe(true);
    const result = await offeredParts.collect(claim.lease);
    expect(result).toEqual([
      { artifact: createRef('outputs'), files: [createRef('columns'), createRef('plan')], parts: [0] },
    ]);
    expect(await offeredParts.collect(claim.lease), 'outputs are collected once').toEqual([]);
    expect(await offeredParts.remaining(claim.lease)).toEqual([1]);
  });

  test('are offered to nodes that may claim them, and to no others', async () => {
    await offerParts(1);
    const { database, schema } = createNodeOptions();
    const capacity = { lanes: ['heavy', 'light'] as const, memoryBytes: 100 };
    const emptyCall = { state: undefined, events: undefined, asksSilent: false, asksNodes: false };
    async function readSeenWork(node: string, version = '1', freeBytes = 100) {
      const helper = { node, version: () => version };
      const look = createPulse({ database, schema, node, helper });
      return (await look({ ...emptyCall, capacity: { ...capacity, freeBytes } })).waiting;
    }
    expect(await readSeenWork('other')).toEqual({ jobs: false, parts: true });
    expect(await readSeenWork('own')).toEqual({ jobs: false, parts: false });
    expect(await readSeenWork('other', '2')).toEqual({ jobs: false, parts: false });
    expect(await readSeenWork('other', '1', 49)).toEqual({ jobs: false, parts: false });
    await queue.submit(createJob('next'));
    expect(await readSeenWork('other')).toEqual({ jobs: true, parts: true });
  });

  test('belong to the nodes that compute them until they are written, with their memory', async () => {
    const offeredParts = await offerParts(9);
    const { url, schema, database } = world;
    const message = { version: '1', places: { heavy: 1, light: 0 }, memory_bytes: 100, market: null, stale: 0 };
    const state = { ...message, role: 'worker', protocol: 3, lacks: [], clock_offset_ms: 0, removes_orphans: false };
    for (const nodeName of ['helper', 'idle', 'own']) {
      const sendPulse = createPulse({ database, schema: `"${schema}"`, node: nodeName, helper: undefined });
      await sendPulse({ state, events: undefined, asksSilent: false, asksNodes: false, capacity: undefined });
    }
    const helper = createParts('helper');
    const { lease } = (await helper.claim(ORDER))!;
    await offeredParts.take(claim.lease);
    const listNodeLoads = async () =>
      (await listNodes({ url, schema })).map(({ node, jobs, helps, reserved_bytes: bytes }) => [
        node,
        jobs,
        helps,
        bytes,
      ]);
    const [atOwn, idle] = [
      ['own', ['backtest:shared'], [], 50],
      ['idle', [], [], 0],
    ];
    expect(await listNodeLoads()).toEqual([['helper', [], ['backtest:shared'], 50], idle, atOwn]);
    // There are three slots. One runs the job, and another runs parts of it.
    expect((await queue.lanes()).heavy).toMatchObject({ running: 1, helping: 1, places: 3 });
    await helper.complete(lease, createSuccessWith('out'));
    expect(await listNodeLoads()).toEqual([['helper', [], [], 0], idle, atOwn]);
  });

  test('are not offered to nodes of another version, to nodes without the memory, or to the node of the job', async () => {
    await offerParts(3);
    expect(await createParts('other', '2').claim(ORDER)).toBeUndefined();
    expect(await createParts('other').claim({ ...ORDER, freeBytes: 49 })).toBeUndefined();
    expect(await createParts('own').claim(ORDER)).toBeUndefined();
    expect(await createParts('other').claim({ ...ORDER, lane: 'light' })).toBeUndefined();
    expect(await createParts('other').claim({ ...ORDER, exceptOwners: new Set(['']) })).toBeUndefined();
    expect(await createParts('other').claim({ ...ORDER, freeBytes: 50 })).toBeDefined();
  });

  test('that a node releases or loses are computed by the node of the job', async () => {
    const offeredParts = await offerParts(2);
    const other = createParts('other');
    const part = (await other.claim(ORDER))!;
    await other.complete(part.lease, { type: 'crash', cause: 'its thread ended' });
    other.note(true);
    expect(await other.claim(ORDER), 'a job whose parts it cannot compute').toBeUndefined();
    const silentClaim = (await createParts('silent').claim(ORDER))!;
    expect(silentClaim.parts).toEqual([1]);
    expect(await offeredParts.take(claim.lease)).toBe(0);
    expect(await offeredParts.take(claim.lease)).toBeUndefined();
    await world.query(`UPDATE $schema.parts SET lease_until = now() - interval '1 s'`);
    expect(await offeredParts.take(claim.lease)).toBe(1);
  });

  test('claimed while the attempt ends are released as soon as the end is reported', async () => {
    await offerParts(1);
    let notification: Promise<unknown> | undefined;
    const other = createParts('other', '1', async (kind, id) => {
      const document = await documents.get(kind, id);
      await (notification ??= queue
        .complete(claim.lease, { type: 'release', cause: 'the test asks' })
        .then(() => other.ask(claim.lease.jobId)));
      return document;
    });
    const { lease } = (await other.claim(ORDER))!;
    await expect.poll(() => lease.isLost).toBe(true);
  });

  test('are ignored once the attempt has ended', async () => {
    const offeredParts = await offerParts(4);
    const [lateParts, silentParts] = [createParts('late'), createParts('silent')];
    const [first, second] = [(await lateParts.claim(ORDER))!, (await silentParts.claim(ORDER))!];
    await queue.complete(claim.lease, { type: 'release', cause: 'the test asks' });
    expect(await lateParts.complete(first.lease, createSuccessWith('late'))).toBe(false);
    expect(await silentParts.heartbeat(second.lease), 'one that has just been granted is not asked for').toBe(true);
    silentParts.ask(claim.lease.jobId);
    await expect.poll(() => second.lease.isLost).toBe(true);
    expect(await createParts('other').claim(ORDER)).toBeUndefined();

    const secondClaim = (await queue.claim(ORDER))!;
    await offeredParts.offer(secondClaim.lease, [0, 1]);
    expect(await offeredParts.remaining(claim.lease)).toEqual([]);
    await offeredParts.withdraw(secondClaim.lease);
    expect(await queue.complete(secondClaim.lease, succeed)).toBe(true);
    expect(await world.query('SELECT FROM $schema.parts')).toEqual([]);
  });
});
