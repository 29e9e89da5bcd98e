import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { claimNode, listNodes, type NodeClaim } from '#jobs/distributed/nodes.js';
import { type ProcessIdentity, readProcessIdentity } from '#store/home/process-identity.js';
import { hasPostgresql, openTestSchema, type TestSchema } from '../../postgresql/shared-postgresql.js';

const OWN_IDENTITY = readProcessIdentity();
/** A process on another machine. This machine cannot determine whether it has ended. */
const OTHER_BOOT: ProcessIdentity = { ...OWN_IDENTITY, world: 'another boot' };
const THIRD_BOOT: ProcessIdentity = { ...OWN_IDENTITY, world: 'a third boot' };
const UNUSED_PID: ProcessIdentity = { ...OWN_IDENTITY, pid: 2 ** 30 };
const OWN_NAME = /^machine:\/var#[\da-f]{6}$/;

describe.skipIf(!hasPostgresql || OWN_IDENTITY.world === null)('the name of a node', () => {
  let world: TestSchema;
  beforeEach(async () => {
    world = await openTestSchema();
  });
  afterEach(() => world.drop());

  /** @param pause called while the owner of the name is checked */
  const take = (process: ProcessIdentity, pause: NonNullable<NodeClaim['pause']> = rejectRequest) =>
    claimNode({
      database: world.database,
      schema: `"${world.schema}"`,
      name: 'machine:/var',
      role: 'worker',
      version: '1.2.3',
      process,
      pause,
    });
  const rejectRequest = () => Promise.reject(new Error('nobody had to be looked at'));
  const readAge = (by: string) => world.query(`UPDATE $schema.nodes SET seen_at = seen_at - interval '${by}'`);
  /** Records a sign of life of the node that owns the name. */
  const sendHeartbeat = async (): Promise<void> => void (await readAge('-1 ms'));

  test('is claimed by the first process, which is listed without its process identity', async () => {
    expect(await take(OTHER_BOOT)).toBe('machine:/var');
    const [node] = await listNodes(world);
    expect(node).toMatchObject({
      node: 'machine:/var',
      role: 'worker',
      places: { heavy: 0, light: 0 },
      is_lost: false,
    });
    expect(node).not.toHaveProperty('process');
  });

  test('is claimed at once if its process is known to have ended, or has been silent for too long', async () => {
    await take(UNUSED_PID);
    expect(await take(OWN_IDENTITY)).toBe('machine:/var');
    expect(await take(OWN_IDENTITY), 'a later service of one process').toBe('machine:/var');
    await take(OWN_IDENTITY);
    await readAge('1 hour');
    expect(await take(OTHER_BOOT)).toBe('machine:/var');
  });

  test('is claimed from a process elsewhere that shows no sign of life while it is watched', async () => {
    await take(OTHER_BOOT);
    let looks = 0;
    expect(await take(THIRD_BOOT, async () => void looks++)).toBe('machine:/var');
    expect(looks).toBe(1);
  });

  test('is not claimed from a live process: a copy of its machine has a different name', async () => {
    await take(OTHER_BOOT);
    const copies = [await take(THIRD_BOOT, sendHeartbeat), await take(OWN_IDENTITY, sendHeartbeat)];
    for (const copy of copies) expect(copy).toMatch(OWN_NAME);
    expect(new Set(copies).size).toBe(2);
    expect(await listNodes(world)).toHaveLength(3);
  });

  test('is given only once to copies that start together', async () => {
    const names = await Promise.all(
      [OTHER_BOOT, THIRD_BOOT, OWN_IDENTITY].map((process) => take(process, sendHeartbeat)),
    );
    expect(new Set(names).size).toBe(3);
    expect(names.filter((name) => name === 'machine:/var')).toHaveLength(1);
  });
});
