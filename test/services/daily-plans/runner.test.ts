import { afterEach, beforeEach, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { LEASE_MS } from '#services/daily-plans/stored-days.js';
import { BlockedError, openRunnerWorld, type RunnerWorld } from './runner-world.js';

let world: RunnerWorld;
beforeEach(async () => void (world = await openRunnerWorld('2026-11-23T23:29:00Z')));
afterEach(() => world.close());

const MONDAY = '2026-11-23';
const TUESDAY = '2026-11-24';
const computeMinutes = (count: number) => (world.now += count * 60_000);
const listDaySteps = (date: string) =>
  ['refresh', 'run', 'publish'].flatMap((step) => ['CORE', 'EVEN', 'CORE-FEE'].map((id) => `${step} ${id} ${date}`));

test('a day begins at its time, in its order, and once', async () => {
  await world.put();
  const runner = world.runner();
  await runner.tick();
  expect(world.done).toEqual([]);
  computeMinutes(1);
  await runner.tick();
  await runner.tick();
  expect(world.done).toEqual(listDaySteps(MONDAY));
  const day = await world.day(MONDAY);
  expect(day).toMatchObject({
    state: 'done',
    rounds: 1,
    is_late: false,
    lease: null,
    due_at: '2026-11-23T23:30:00.000000+00:00',
  });
  expect(await world.days.state('close')).toMatchObject({ through: MONDAY, open: [] });
});

test('a family of 200 indices is performed in one plan, each index after its parents', async () => {
  const formatId = (k: number): string => `I${String(k).padStart(3, '0')}`;
  const commonFields = { calendar: 'XNYS', base_date: '2020-01-02' };
  const rule = { pipeline: { weighting: { type: 'EqualWeight' } } };
  const createOverlay = (source: number) => ({
    kind: 'overlay',
    source_index_id: formatId(source),
    overlay: { type: 'decrement', percent: 0.05 },
  });
  // A hundred indices, with two overlays on each of the first fifty.
  const family = Array.from({ length: 200 }, (_, k) => ({
    id: formatId(k),
    name: formatId(k),
    ...commonFields,
    ...(k < 100 ? rule : createOverlay(k < 150 ? k - 100 : k - 50)),
  }));
  await world.documents.transaction(async (tx) => {
    for (const document of family) await tx.put('index', document.id, document);
  });
  await world.put({ indices: family.map(({ id }) => id).toReversed(), steps: [{ type: 'run' }] });
  computeMinutes(1);
  await world.runner().tick();
  expect(await world.day(MONDAY)).toMatchObject({ state: 'done', held: [] });
  const positions = new Map(world.done.map((entry, place) => [entry.split(' ')[1]!, place]));
  expect(positions.size).toBe(200);
  expect(world.done.length).toBe(200);
  for (const { id, ...document } of family)
    if ('source_index_id' in document)
      expect(positions.get(id)!, id).toBeGreaterThan(positions.get(document.source_index_id)!);
});

test('sessions of an outage are processed in order, and those before them are recorded as missed', async () => {
  await world.put({ catch_up: 1 });
  world.now = Date.parse('2026-12-01T12:00:00Z');
  const runner = world.runner();
  await runner.tick();
  const states = await Promise.all(
    ['2026-11-23', '2026-11-24', '2026-11-25', '2026-11-27', '2026-11-30'].map(
      async (date) => (await world.day(date))?.state,
    ),
  );
  expect(states).toEqual(['missed', 'missed', 'missed', 'done', 'done']);
  expect(world.done).toEqual([...listDaySteps('2026-11-27'), ...listDaySteps('2026-11-30')]);
});

test('a disabled schedule starts no day', async () => {
  await world.put({ enabled: false });
  computeMinutes(60);
  await world.runner().tick();
  expect(await world.day(MONDAY)).toBeUndefined();
});

test('a blocked index blocks the overlay on it on this day and the next, and the others continue', async () => {
  await world.put();
  let isBlocked = true;
  const runner = world.runner((step, id, date) => {
    if (isBlocked && step === 'publish' && id === 'CORE' && date === MONDAY) throw new BlockedError('no price of AA');
  });
  computeMinutes(1);
  await runner.tick();
  const day = (await world.day(MONDAY))!;
  expect([day.state, day.held.map(({ index_id }) => index_id), day.reason]).toEqual([
    'blocked',
    ['CORE', 'CORE-FEE'],
    'CORE: no price of AA CORE-FEE: The parent CORE is held back: no price of AA',
  ]);
  computeMinutes(24 * 60);
  world.done.length = 0;
  await runner.tick();
  expect(world.done).toEqual(['refresh', 'run', 'publish'].map((step) => `${step} EVEN ${TUESDAY}`));
  expect((await world.day(TUESDAY))!.held).toEqual(day.held);
  isBlocked = false;
  computeMinutes(10);
  world.done.length = 0;
  await runner.tick();
  const bothIndices = ['CORE', 'CORE-FEE'];
  expect(world.done.slice(0, 2)).toEqual(bothIndices.map((id) => `publish ${id} ${MONDAY}`));
  expect((await world.day(MONDAY))!.state).toBe('done');
  expect((await world.day(TUESDAY))!.state).toBe('done');
});

test('with on_failure stop a blocked index blocks its family, and the days after', async () => {
  await world.put({ on_failure: 'stop' });
  const runner = world.runner((step, id) => {
    if (step === 'run' && id === 'EVEN') throw new BlockedError('no run');
  });
  computeMinutes(1);
  await runner.tick();
  expect(world.done.some((line) => line.startsWith('publish'))).toBe(false);
  computeMinutes(24 * 60);
  await runner.tick();
  expect((await world.day(TUESDAY))!).toMatchObject({ state: 'waiting', rounds: 0 });
});

test('a day is checked again after its interval, and is late after its deadline', async () => {
  await world.put({ retry_minutes: 30, deadline_minutes: 45 });
  const runner = world.runner((step, id) => {
    if (step === 'publish' && id === 'EVEN') throw new BlockedError('not yet');
  });
  computeMinutes(1);
  await runner.tick();
  const runRoundsAfter = async (count: number) => {
    computeMinutes(count);
    await runner.tick();
    const { rounds, is_late: isLate } = (await world.day(MONDAY))!;
    return [rounds, isLate];
  };
  expect(await runRoundsAfter(29)).toEqual([1, false]);
  expect(await runRoundsAfter(1)).toEqual([2, false]);
  expect(await runRoundsAfter(30)).toEqual([3, true]);
});

test('two processes share the days of a schedule: each step is performed once', async () => {
  await world.put();
  await world.put({}, 'other');
  computeMinutes(1);
  const [one, two] = [world.runner(() => new Promise((resolve) => setImmediate(resolve))), world.runner()];
  await Promise.all([one.tick(), two.tick(), one.tick(), two.tick()]);
  await Promise.all([one.tick(), two.tick()]);
  expect(world.done.toSorted()).toEqual([...listDaySteps(MONDAY), ...listDaySteps(MONDAY)].toSorted());
});

test.for(['refresh', 'run', 'publish'] as const)(
  'a process that ends in the step %s is replaced by another once its lease has expired',
  async (where) => {
    await world.put();
    computeMinutes(1);
    let onDeath: () => void = () => {};
    const isDead = new Promise<void>((resolve) => (onDeath = resolve));
    const silentRunner = world.doomedRunner(async (step, id) => {
      if (step !== where || id !== 'EVEN') return;
      onDeath();
      await new Promise(() => {}); // the process does not respond any more
    });
    void silentRunner.tick();
    await isDead;
    const heir = world.runner();
    await heir.tick();
    expect((await world.day(MONDAY))!.state).toBe('running');
    world.now += LEASE_MS + 1;
    await heir.tick();
    expect((await world.day(MONDAY))!.state).toBe('done');
    // Completed work is not repeated.
    expect(world.done.toSorted()).toEqual(listDaySteps(MONDAY).toSorted());
  },
);

test('a step that fails unexpectedly is retried later', async () => {
  await world.put();
  computeMinutes(1);
  let isBroken = true;
  const runner = world.runner((step) => {
    if (isBroken && step === 'run') throw new Error('a defect');
  });
  await runner.tick();
  expect((await world.day(MONDAY))!).toMatchObject({
    state: 'waiting',
    reason: expect.stringContaining('unexpectedly') as string,
  });
  isBroken = false;
  computeMinutes(10);
  await runner.tick();
  expect((await world.day(MONDAY))!).toMatchObject({ state: 'done', rounds: 2 });
});

test('a day waits while the database or object store is unavailable, and continues afterwards', async () => {
  await world.put();
  computeMinutes(1);
  const awayMessage = 'The object store cannot be reached.';
  let isAway = true;
  const runner = world.runner((step, id) => {
    if (isAway && step === 'run' && id === 'CORE') throw new BlockedError(awayMessage, 'STORE_UNAVAILABLE');
  });
  await runner.tick();
  const day = (await world.day(MONDAY))!;
  expect([day.state, day.held.map(({ index_id: id }) => id)]).toEqual(['waiting', ['CORE', 'CORE-FEE']]);
  expect(day.reason).toContain(awayMessage);
  isAway = false;
  computeMinutes(10);
  await runner.tick();
  expect((await world.day(MONDAY))!).toMatchObject({ state: 'done', held: [] });
});

test('a step that is refused as a whole blocks the day with its reason', async () => {
  await world.put();
  computeMinutes(1);
  const runner = world.runner((step) => {
    if (step === 'run') throw new Refusal('NO_DATA_SOURCE', 'No data store is being served.');
  });
  await runner.tick();
  const day = (await world.day(MONDAY))!;
  expect([day.state, day.reason]).toEqual(['blocked', 'run: No data store is being served.']);
  expect(day.steps[1]).toMatchObject({ state: 'failed', code: 'NO_DATA_SOURCE' });
});

test('a day whose author lost the permission is blocked with the reason, and continues once it is granted again', async () => {
  await world.put();
  let fault: string | undefined = 'The key desk was revoked.';
  world.authorFault = () => fault;
  const runner = world.runner();
  computeMinutes(1);
  await runner.tick();
  expect(await world.day(MONDAY)).toMatchObject({ state: 'blocked', reason: fault, held: [] });
  expect(world.done).toEqual([]);
  computeMinutes(24 * 60);
  await runner.tick();
  expect([world.done, (await world.day(TUESDAY))!.state]).toEqual([[], 'waiting']);
  fault = undefined;
  computeMinutes(10);
  await runner.tick();
  expect(world.done).toEqual([...listDaySteps(MONDAY), ...listDaySteps(TUESDAY)]);
});

test('files of a day are kept for their days after its end, and longer once the day is performed again', async () => {
  await world.put({ keep_files_days: 30 });
  const runner = world.runner();
  computeMinutes(1);
  await runner.tick();
  const addFile = async () => {
    const day = (await world.day(MONDAY))!;
    const items = day.steps[2]!.items.map((item) => ({ ...item, artifact: `${'a'.repeat(32)}.art` }));
    const changedPlan = {
      ...day,
      finished_at: new Date(world.now).toISOString(),
      steps: day.steps.with(2, { ...day.steps[2]!, items }),
    };
    await world.documents.transaction((tx) => world.days.changeIn(tx, changedPlan));
  };
  const hasFile = async () => (await world.day(MONDAY))!.steps[2]!.items.some(({ artifact }) => artifact !== null);
  const runDays = async (days: number) => {
    computeMinutes(days * 24 * 60);
    await runner.tick();
    return hasFile();
  };
  await addFile();
  expect(await runDays(30)).toBe(true);
  expect(await runDays(1)).toBe(false);
  await addFile();
  expect(await runDays(20)).toBe(true);
  expect(await runDays(10)).toBe(true);
  expect(await runDays(1)).toBe(false);
});
