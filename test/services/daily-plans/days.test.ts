import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ScheduleCollection } from '#contract/schedules.js';
import type { ScheduleDay } from '#domain/outputs/daily-plans.js';
import type { Judgement } from '#domain/definition/daily-plan-checks.js';
import { runHere } from '../../cli/process.js';
import { runService, type RunningService } from '../running-service.js';
import {
  readDay,
  FAMILY,
  createFamilyOn,
  createFiles,
  performDay,
  listPublishedDates,
  putSchedule,
  schedule,
  SESSIONS,
} from './family.js';
import { createEqualIndex } from '../../equal-index.js';

/** Service that performs a sequence of days for a family of indices. Each test depends on the previous test. */
let service: RunningService;
let folder: Awaited<ReturnType<typeof createFamilyOn>>;
const [day1, day2, day3, day4] = SESSIONS.slice(9) as [string, string, string, string];

/** Exit status of the command that asks for a day, with or without waiting for its end. */
const exitStatusOf = async (date: string, ...flags: string[]) =>
  (await runHere(['schedule', 'status', 'close', '--date', date, ...flags], { DIVISOR_URL: service.url() })).status;

beforeAll(async () => {
  service = await runService();
  folder = await createFamilyOn(service, 10);
});
afterAll(() => service.close());

test('a schedule is refused for a missing calendar, time zone, index, template or file name', async () => {
  const listCodes = async (change: object) => {
    const { status, body } = await service.ask<{ error: { detail: { findings: { code: string; path: string }[] } } }>(
      'PUT',
      '/schedules/close',
      schedule(change),
    );
    return [status, ...body.error.detail.findings.map(({ code, path }) => `${code} ${path}`)];
  };
  expect(await listCodes({ calendar: 'XXXX' })).toEqual([422, 'UNKNOWN_CALENDAR calendar']);
  expect(await listCodes({ time_zone: 'Mars/Olympus' })).toEqual([422, 'NOT_IN_CHOICES time_zone']);
  expect(await listCodes({ indices: ['CORE', 'NONE', 'CORE'] })).toEqual([
    422,
    'UNKNOWN_INDEX indices[1]',
    'DUPLICATE_ID indices[2]',
  ]);
  expect(await listCodes({ at: '25:00' })).toEqual([422, 'WRONG_TYPE at']);
  const steps = [
    { type: 'export', files: [{ table: 'closing', name: '../{index}' }] },
    { type: 'render', template_id: 'NONE' },
    { type: 'dance' },
  ];
  expect(await listCodes({ steps: [steps[0]] })).toEqual([422, 'WRONG_TYPE steps[0].files[0].name']);
  expect(await listCodes({ steps: [steps[1]] })).toEqual([422, 'REQUIRED steps[0].template_id']);
  expect(await listCodes({ steps: [steps[2]] })).toEqual([422, 'NOT_IN_CHOICES steps[0].type']);
  expect(await listCodes({ steps: [{ type: 'refresh', store_id: 'uk' }] })).toEqual([
    422,
    'REQUIRED steps[0].store_id',
  ]);
  const unsentIds = [
    { type: 'deliver', clients: ['NONE'] },
    { type: 'export', files: [{ table: 'closing' }] },
  ];
  expect(await listCodes({ steps: unsentIds })).toEqual([
    422,
    'INVALID_RANGE steps[0]',
    'REQUIRED steps[0].clients[0]',
  ]);
  const other = [{ type: 'export', files: [{ table: 'closing', indices: ['OTHER'] }] }];
  expect(await listCodes({ steps: other })).toEqual([422, 'UNKNOWN_INDEX steps[0].files[0].indices[0]']);
});

test.each([
  ['{date:YYYYMMDD}.csv', [{ table: 'closing' }], 'closing of CORE and closing of EVEN; use a name with {index}'],
  [
    '{index}.csv',
    [{ table: 'closing' }, { table: 'opening' }],
    'closing of CORE and opening of CORE; use a name with {table}',
  ],
])('a schedule is refused for names such as %s, which several files of a day would have', async (name, files, text) => {
  const steps = [{ type: 'export', files: files.map((file) => ({ ...file, name })) }];
  const { detail } = await service.refusal('PUT', '/schedules/close', schedule({ indices: ['CORE', 'EVEN'], steps }));
  const [{ path, message }] = (detail as { findings: [{ path: string; message: string }] }).findings;
  expect(path).toBe(`steps[0].files[${files.length - 1}].name`);
  expect(message).toContain(`is the name of both ${text}`);
});

test('a day runs and publishes a family, parents first, and a second round publishes nothing again', async () => {
  expect((await putSchedule(service, { enabled: false })).status).toBe(200);
  const day = await performDay(service, day1);
  expect(day).toMatchObject({ state: 'done', reason: null, held: [], version: 1, author: 'local' });
  expect(day.steps.map(({ type, state, attempts }) => [type, state, attempts])).toEqual([
    ['refresh', 'done', 1],
    ['run', 'done', 1],
    ['publish', 'done', 1],
  ]);
  const publishedItems = day.steps[2]!.items;
  expect(publishedItems.map(({ index_id: id }) => id).toSorted()).toEqual(FAMILY.toSorted());
  const order = publishedItems.map(({ key }) => key);
  expect(order.indexOf('CORE')).toBeLessThan(order.indexOf('CORE-FEE'));
  for (const id of FAMILY) expect(await listPublishedDates(service, id)).toEqual(SESSIONS.slice(0, 10));
  await performDay(service, day1);
  for (const id of FAMILY) expect(await listPublishedDates(service, id)).toEqual(SESSIONS.slice(0, 10));
  expect(await exitStatusOf(day1, '--wait', '1')).toBe(0);
});

test('a day waits for the prices of its session, and resumes when they arrive', async () => {
  const waitingDay = await performDay(service, day2);
  expect(waitingDay).toMatchObject({
    state: 'waiting',
    reason: expect.stringContaining(`no prices of ${day2} yet`) as string,
  });
  expect(Date.parse(waitingDay.next_attempt_at!)).toBeGreaterThan(Date.now());
  expect([await exitStatusOf(day2, '--wait', '0'), await exitStatusOf(day2)]).toEqual([74, 0]);
  const reason = `Days run in order, and ${day2} has not finished.`;
  await service.ask('POST', `/schedules/close/days/${day3}/run`, {});
  expect(await readDay(service, day3)).toMatchObject({ state: 'waiting', reason });
  const { days } = (await service.ask<{ days: ScheduleDay[] }>('GET', '/schedules/close/days?limit=2')).body;
  expect(days.map((day) => day.reason)).toEqual([reason, waitingDay.reason]);
  await folder.write(createFiles(day2));
  expect(await performDay(service, day2)).toMatchObject({ state: 'done', rounds: 2 });
  expect((await listPublishedDates(service, 'CORE')).at(-1)).toBe(day2);
});

test('an index whose closes are refused blocks only its derived indices', async () => {
  await folder.write(createFiles(day3, (price, security) => (security === 'AA' ? null : price)));
  await service.ask(
    'PUT',
    '/indices/EVEN',
    createEqualIndex('EVEN', {
      base_date: SESSIONS[0],
      universe: { kind: 'list', identifiers: ['BB', 'CC', 'DD'] },
      rebalance: { frequency: 'quarterly' },
    }),
  );
  const day = await performDay(service, day3);
  expect(day.state).toBe('blocked');
  expect(day.held.map(({ index_id, code }) => [index_id, code])).toEqual([
    ['CORE', 'PARTIAL_CLOSES'],
    ['CORE-FEE', 'PARTIAL_CLOSES'],
    ['EVEN', 'RESTATEMENT'], // the definition changed after closes were published
  ]);
  expect(day.held[1]!.reason).toMatch(/^The parent CORE is held back/);
  expect((await listPublishedDates(service, 'CORE')).at(-1)).toBe(day2);
  const run = ['schedule', 'run', 'close', day3, '--wait', '60'];
  expect(await runHere(run, { DIVISOR_URL: service.url() })).toMatchObject({ status: 1 });
});

test('a skip needs a reason, ends the day and is registered and audited; the next day publishes the skipped closes', async () => {
  expect((await service.ask('POST', `/schedules/close/days/${day3}/skip`, {})).status).toBe(422);
  const reason = 'AA was suspended';
  const { body } = await service.ask('POST', `/schedules/close/days/${day3}/skip`, { reason });
  expect(body).toMatchObject({ state: 'skipped', reason, held: [], next_attempt_at: null });
  expect((await service.refusal('POST', `/schedules/close/days/${day3}/skip`, { reason })).code).toBe('DAY_ENDED');
  const { judgements } = (await service.ask<{ judgements: Judgement[] }>('GET', '/schedules/close/judgements')).body;
  expect(judgements[0]).toMatchObject({ action: 'skip', date: day3, reason, author: 'local' });
  expect(judgements.map(({ seq }) => seq)).toEqual(judgements.map((_, k) => judgements.length - k));
  const { entries } = (await service.ask<{ entries: { kind: string; id: string }[] }>('GET', '/audit?kind=judgement'))
    .body;
  expect(entries).toHaveLength(judgements.length);

  await folder.write({ ...createFiles(day3), ...createFiles(day4) });
  await service.ask('PUT', '/indices/EVEN', (await service.ask('GET', '/indices/EVEN/versions/1')).body);
  await service.ask('POST', '/data/stores/vendor/refresh', { full: true });
  await service.waitForJob('refresh:vendor');
  expect(await performDay(service, day4)).toMatchObject({ state: 'done' });
  expect((await listPublishedDates(service, 'CORE')).slice(-3)).toEqual([day2, day3, day4]);
});

test('files of the published run are written once, and again on request', async () => {
  const files = [
    { table: 'closing', name: '{index}_{date:YYYYMMDD}_closing.csv', indices: ['CORE'] },
    { table: 'levels', format: 'json', from_start: true },
    { table: 'proforma', optional: true, indices: ['CORE'] },
  ];
  const steps = [
    { type: 'run' },
    { type: 'publish' },
    { type: 'export', files },
    { type: 'render', template_id: 'FACTSHEET-A4', indices: ['CORE'] },
  ];
  await putSchedule(service, { enabled: false, steps });
  const day = await performDay(service, day4);
  expect([day.state, day.reason, day.version]).toEqual(['done', null, 2]);
  const stamp = day4.replaceAll('-', '');
  const madeFiles = day.steps.flatMap(({ items }) => items.flatMap(({ file }) => (file === null ? [] : [file.name])));
  expect(madeFiles.toSorted()).toEqual(
    [`CORE_${stamp}_closing.csv`, ...FAMILY.map((id) => `${id}_${stamp}_levels.json`), `CORE_${stamp}.pdf`].toSorted(),
  );
  const readAttempts = async (request: object) =>
    (await performDay(service, day4, request)).steps[2]!.items.find(({ key }) => key.endsWith('closing.csv'))!.at;
  const firstTimestamp = day.steps[2]!.items.find(({ key }) => key.endsWith('closing.csv'))!.at;
  expect(await readAttempts({})).toBe(firstTimestamp);
  expect(await readAttempts({ again: ['export'] })).not.toBe(firstTimestamp);
});

test('the list shows days, newest first, with the next one', async () => {
  const { body } = await service.ask<{ days: { date: string; state: string; step: string | null }[]; next: unknown }>(
    'GET',
    '/schedules/close/days?limit=3',
  );
  expect(body.days.map(({ date, state, step }) => [date, state, step])).toEqual([
    [day4, 'done', null],
    [day3, 'skipped', null],
    [day2, 'done', null],
  ]);
  expect(body.next).toBeNull(); // the schedule is not enabled
  const before = await service.ask<{ days: { date: string }[] }>('GET', `/schedules/close/days?before=${day2}`);
  expect(before.body.days.map(({ date }) => date)).toEqual([day1]);
  const readLatest = async (query: string) => {
    const { schedules } = (await service.ask<ScheduleCollection>('GET', `/schedules${query}`)).body;
    return schedules.find(({ schedule_id: id }) => id === 'close')!.latest;
  };
  expect(await readLatest('')).toBeNull();
  expect(await readLatest('?days=3')).toEqual(body);
});

test('a day belongs to a session that has begun', async () => {
  const saturday = '2023-06-17';
  const readMessage = async (date: string) =>
    JSON.stringify((await service.refusal('POST', `/schedules/close/days/${date}/run`)).detail);
  expect(await readMessage(saturday)).toContain('is not a session of XNYS');
  expect(await readMessage('2030-01-02')).toContain('has not started');
  expect((await service.refusal('GET', `/schedules/close/days/${saturday}`)).code).toBe('DAY_NOT_FOUND');
  expect(await service.refusal('GET', `/schedules/none/days`)).toMatchObject({
    code: 'SCHEDULE_NOT_FOUND',
    detail: { schedule_id: 'none' },
  });
});

test('an earlier version is restored, and days are kept after their schedule is deleted', async () => {
  expect((await service.ask('POST', '/schedules/close/versions/1/restore')).status).toBe(200);
  const { body } = await service.ask<{ steps: { type: string }[] }>('GET', '/schedules/close');
  expect(body.steps.map(({ type }) => type)).toEqual(['refresh', 'run', 'publish']);
  expect((await service.ask('DELETE', '/schedules/close')).status).toBe(204);
  expect((await readDay(service, day4)).state).toBe('done');
});
