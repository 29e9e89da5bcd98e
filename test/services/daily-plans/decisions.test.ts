import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCalendarFileName } from '#domain/calendars/exchange-calendars.js';
import { resumeDays, waitsForApproval } from '#services/daily-plans/runner.js';
import { readPlanDay } from '#services/daily-plans/stored-days.js';
import { formatTimestamp } from '#store/port.js';
import { createTestContext } from '../context.js';
import { BlockedError, openRunnerWorld, type RunnerWorld } from './runner-world.js';

/** Processes that run a day while people and other processes record decisions. */
let world: RunnerWorld;
beforeEach(async () => void (world = await openRunnerWorld('2026-11-23T23:29:00Z')));
afterEach(() => world.close());

const MONDAY = '2026-11-23';
const ADA = { author: 'ada', keyId: null, note: null, requestId: 'request' };
const computeMinutes = (count: number) => (world.now += count * 60_000);

/** Adds a waiver to a stored day, as a person would. */
function waiveCheck(date: string): Promise<void> {
  const decision = {
    check: 'moves' as const,
    index_id: 'CORE',
    identifier: null,
    reason: 'Confirmed by the exchange.',
  };
  return world.documents.transaction(async (tx) => {
    const storedDay = (await readPlanDay(tx, 'close', date))!;
    const timestamp = formatTimestamp(world.now);
    const waiver = { ...decision, author: 'desk', key_id: null, at: timestamp };
    await world.days.changeIn(tx, {
      ...storedDay,
      waivers: [...storedDay.waivers, waiver],
      next_attempt_at: timestamp,
    });
  });
}

test('a waiver that is given during a round remains after it, and the day is due at once', async () => {
  await world.put();
  computeMinutes(1);
  let rounds = 0;
  const runner = world.runner(async (step, id) => {
    if (step !== 'run' || id !== 'CORE' || ++rounds > 1) return;
    await waiveCheck(MONDAY);
    throw new BlockedError('an unexplained move');
  });
  await runner.tick();
  const dueTimestamp = formatTimestamp(world.now);
  expect(await world.day(MONDAY)).toMatchObject({
    state: 'blocked',
    waivers: [{ author: 'desk' }],
    next_attempt_at: dueTimestamp,
  });
  await runner.tick();
  expect(await world.day(MONDAY)).toMatchObject({ state: 'done', rounds: 2, waivers: [{ author: 'desk' }] });
});

test('a day whose request is approved during the round that created it is due at the end of the round', async () => {
  await world.put();
  computeMinutes(1);
  const { documents, days } = world;
  const context = createTestContext({ documents, now: () => world.now });
  const scheduledDays = { days, schedules: { ids: async () => ['close'], authored: async () => undefined } };
  let rounds = 0;
  const runner = world.runner(async (step, id) => {
    if (step !== 'publish' || id !== 'CORE' || ++rounds > 1) return;
    expect(await resumeDays(context, scheduledDays, waitsForApproval(7))).toBe(true);
    throw new BlockedError('Publish the close of CORE. This needs approval 7.', 'APPROVAL_REQUIRED');
  });
  await runner.tick();
  expect(await world.day(MONDAY)).toMatchObject({ state: 'blocked', next_attempt_at: formatTimestamp(world.now) });
  await runner.tick();
  expect(await world.day(MONDAY)).toMatchObject({ state: 'done', rounds: 2, next_attempt_at: null });
});

test('steps that are requested again during a round are performed after it, under the schedule of the request', async () => {
  await world.put();
  computeMinutes(1);
  let requests = 0;
  const repeatStep = (step: 'run' | 'publish') =>
    world.people.run('close', MONDAY, { again: [step], reason: 'Late figures' }, ADA);
  const runner = world.runner(async (step, id) => {
    if (step !== 'publish' || id !== 'CORE' || requests++ > 0) return;
    await world.put({ retry_minutes: 7 });
    expect(await repeatStep('run')).toMatchObject({ state: 'running', next_attempt_at: formatTimestamp(world.now) });
    await repeatStep('publish');
  });
  await runner.tick();
  expect(await world.day(MONDAY)).toMatchObject({ state: 'waiting', rounds: 1, finished_at: null });
  await runner.tick();
  const day = (await world.day(MONDAY))!;
  expect(day).toMatchObject({ state: 'done', rounds: 2, plan: { retry_minutes: 7 } });
  expect(day).not.toHaveProperty('renewal');
  const count = (work: string) => world.done.filter((one) => one === `${work} CORE ${MONDAY}`).length;
  expect([count('refresh'), count('run'), count('publish')]).toEqual([1, 2, 2]);
  expect(await world.people.judgements('close', { limit: 5 })).toHaveLength(2);
});

test('a backfill records its first and last session, the number of its sessions, and its indices', async () => {
  await world.put();
  const range = { start: '2026-11-14', end: '2026-11-18', reason: 'First days.' }; // a Saturday to a Wednesday
  const { dates } = await world.people.backfill('close', range, ADA);
  await world.people.skip('close', '2026-11-17', 'No prices', ADA);
  const [skip, backfill] = await world.people.judgements('close', { limit: 5 });
  const indices = (await world.day('2026-11-17'))!.plan.indices;
  expect(dates).toEqual(['2026-11-16', '2026-11-17', '2026-11-18']);
  expect(backfill).toMatchObject({ date: '2026-11-16', last_date: '2026-11-18', sessions: 3, indices });
  expect(skip).toMatchObject({ date: '2026-11-17', last_date: null, sessions: 1, indices });
  expect(indices.length).toBeGreaterThan(1);
});

test('a day that is skipped during a round drops a request to perform it again', async () => {
  await world.put();
  computeMinutes(1);
  const runner = world.runner(async (step, id) => {
    if (step !== 'run' || id !== 'CORE') return;
    await world.people.run('close', MONDAY, { again: ['run'], reason: null }, ADA);
    await world.people.skip('close', MONDAY, 'No prices', ADA);
  });
  await runner.tick();
  await runner.tick();
  expect(await world.day(MONDAY)).toMatchObject({ state: 'skipped', reason: 'No prices', rounds: 1 });
  expect(await world.day(MONDAY)).not.toHaveProperty('renewal');
});

test('a decision that follows the end of a round is not overwritten by the round', async () => {
  await world.put();
  computeMinutes(1);
  let waiver = Promise.resolve();
  const end = world.documents.subscribe('day-changed', () => {
    waiver = waiver.then(async () => {
      const day = (await world.day(MONDAY))!;
      if (day.state === 'blocked' && day.waivers.length === 0) await waiveCheck(MONDAY);
    });
  });
  await world
    .runner((step, id) => {
      if (step === 'run' && id === 'CORE') throw new BlockedError('an unexplained move');
    })
    .tick();
  await expect.poll(() => waiver.then(() => world.day(MONDAY))).toMatchObject({ waivers: [{ author: 'desk' }] });
  end();
  const dueTimestamp = formatTimestamp(world.now);
  expect(await world.day(MONDAY)).toMatchObject({ state: 'blocked', lease: null, next_attempt_at: dueTimestamp });
});

test('a closure that another process recorded ends the day before its notification arrives', async () => {
  await world.put();
  computeMinutes(1);
  const changes = [{ date: MONDAY, session: 'closed', reason: 'Storm' }];
  await world.documents.transaction(
    async (tx) => void (await tx.put('closures', createCalendarFileName('XNYS'), { changes })),
  );
  await world.runner().tick();
  expect(world.done).toEqual([]);
  expect(await world.day(MONDAY)).toMatchObject({
    state: 'skipped',
    reason: expect.stringContaining('Storm') as string,
  });
});
