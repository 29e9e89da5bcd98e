import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BenchmarkStatement } from '#contract/governance.js';
import type { Judgement } from '#domain/definition/daily-plan-checks.js';
import type { ScheduleDay } from '#domain/outputs/daily-plans.js';
import { runService, type RunningService } from '../running-service.js';
import {
  createFamilyOn,
  createFiles,
  performDay,
  listPublishedDates,
  putSchedule,
  schedule,
  SESSIONS,
  waitForSettledDay,
} from './family.js';

/** Service for indices whose data is checked before publication. Each test depends on the previous test. */
let service: RunningService;
let folder: Awaited<ReturnType<typeof createFamilyOn>>;
const [day1, day2, day3, day4] = SESSIONS.slice(9) as [string, string, string, string];
const steps = [{ type: 'refresh' }, { type: 'run' }, { type: 'checks' }, { type: 'publish' }];

beforeAll(async () => {
  service = await runService();
  folder = await createFamilyOn(service, 10);
  await putSchedule(service, { enabled: false, steps });
});
afterAll(() => service.close());

/**
 * Returns the findings of the step: index, check, security, state. Indices are checked at the same time, so their order
 * varies.
 */
const listFindings = (day: ScheduleDay) =>
  day.steps
    .find(({ type }) => type === 'checks')!
    .items.flatMap(({ index_id: id, detail, state }) =>
      detail === null ? [] : [`${id} ${detail['check']} ${detail['identifier']} ${state}`],
    )
    .toSorted();

test('a check of the run is refused before the runs, a check of data is not', async () => {
  const createBody = (check: string) => schedule({ steps: [{ type: 'checks', checks: [{ check }] }, { type: 'run' }] });
  const { status, detail } = await service.refusal('PUT', '/schedules/other', createBody('weights'));
  expect([status, (detail as { findings: { path: string }[] }).findings[0]!.path]).toEqual([422, 'steps[0].checks[0]']);
  expect((await service.ask('PUT', '/schedules/other', { ...createBody('coverage'), enabled: false })).status).toBe(
    200,
  );
  const compare = { type: 'compare', second_source: { CORE: 'X', OTHER: 'Y' } };
  const refusal = await service.refusal('PUT', '/schedules/third', schedule({ steps: [{ type: 'run' }, compare] }));
  expect(JSON.stringify(refusal.detail)).toContain('OTHER is not an index of the schedule');
});

test('a second source that is no series of the store is refused', async () => {
  const compare = { type: 'compare', second_source: { CORE: 'CALK' } };
  const check = { type: 'checks', checks: [{ check: 'second_source', series: { CORE: 'CALK' } }] };
  for (const [step, path] of [
    [compare, 'steps[1].second_source.CORE'],
    [check, 'steps[1].checks[0].series.CORE'],
  ] as const) {
    const refusal = await service.refusal('PUT', '/schedules/fourth', schedule({ steps: [{ type: 'run' }, step] }));
    expect(refusal).toMatchObject({
      status: 422,
      detail: { findings: [{ code: 'UNKNOWN_IDENTIFIER', path, value: 'CALK' }] },
    });
  }
});

test('a family without a problem passes all checks', async () => {
  const day = await performDay(service, day1);
  expect([day.state, listFindings(day)]).toEqual(['done', []]);
});

test('a wrong price blocks the indices with the security until a person waives it with a reason', async () => {
  await folder.write(createFiles(day2, (price, security) => (security === 'AA' ? price * 10 : price)));
  const day = await performDay(service, day2);
  expect(day.state).toBe('blocked');
  expect(listFindings(day)).toEqual(['CORE moves AA blocked', 'EVEN moves AA blocked']);
  expect(day.held.map(({ index_id, code }) => [index_id, code])).toEqual([
    ['CORE', 'CHECK_FAILED'],
    ['CORE-FEE', 'CHECK_FAILED'],
    ['EVEN', 'CHECK_FAILED'],
  ]);
  expect((await listPublishedDates(service, 'CORE')).at(-1)).toBe(day1);

  const step = day.steps.find(({ type }) => type === 'checks')!;
  expect(step).toMatchObject({ state: 'done', held: 3, indices: 3 });
  expect(step.message).toBe('9 checks of each index, 2 findings. 3 of 3 indices held back.');
  const readPublishing = ({ steps }: typeof day) => steps.find(({ type }) => type === 'publish')!.message;
  expect(readPublishing(day)).toBe('No index published; the indices are held back or waiting.');
  const path = `/schedules/close/days/${day2}/waivers`;
  expect((await service.ask('POST', path, { check: 'moves' })).status).toBe(422);
  const catchRefusal = async (change: object) => {
    const { detail } = await service.refusal('POST', path, { check: 'moves', reason: 'It is so', ...change });
    const [{ path: field, message }] = (detail as { findings: [{ path: string; message: string }] }).findings;
    return `${field}: ${message}`;
  };
  expect([
    await catchRefusal({ index_id: 'OTHER' }),
    await catchRefusal({ check: 'weights' }),
    await catchRefusal({ index_id: 'CORE-FEE' }),
    await catchRefusal({ index_id: 'EVEN', identifier: 'BB' }),
  ]).toEqual([
    'index_id: OTHER is not an index of the schedule close.',
    `check: The check weights has no finding on ${day2}.`,
    `index_id: The check moves has no finding in CORE-FEE on ${day2}. It has findings in CORE, EVEN.`,
    `identifier: The check moves has no finding of BB in EVEN on ${day2}. It has findings of AA.`,
  ]);
  await service.ask('POST', path, { check: 'moves', index_id: 'CORE', identifier: 'AA', reason: 'It is so' });
  const waivedDay = await waitForSettledDay(service, day2);
  expect(listFindings(waivedDay)).toEqual(['CORE moves AA done', 'CORE-FEE moves AA done', 'EVEN moves AA blocked']);
  expect(waivedDay.held.map(({ index_id }) => index_id)).toEqual(['EVEN']);
  expect(readPublishing(waivedDay)).toBe('2 indices published.');
  const { items, log } = waivedDay.steps.find(({ type }) => type === 'checks')!;
  expect(items.find(({ key }) => key === 'EVEN moves AA')!.detail!['measure']).toMatchObject({ limit: 0.25 });
  expect(log.filter(({ message }) => message === 'local accepted moves of AA in CORE: It is so')).toHaveLength(1);
  expect((await listPublishedDates(service, 'CORE')).at(-1)).toBe(day2);
  expect((await listPublishedDates(service, 'EVEN')).at(-1)).toBe(day1);
  const { judgements } = (await service.ask<{ judgements: Judgement[] }>('GET', '/schedules/close/judgements')).body;
  expect(judgements[0]).toMatchObject({
    action: 'waive',
    check: 'moves',
    index_id: 'CORE',
    identifier: 'AA',
    reason: 'It is so',
    findings: [{ index_id: 'CORE', identifier: 'AA', measure: { limit: 0.25, unit: 'fraction' } }],
  });
  const readStatement = async (id: string) =>
    (await service.ask<BenchmarkStatement>('GET', `/indices/${id}/statement`)).body.discretion.judgements;
  expect(await readStatement('CORE')).toMatchObject([{ check: 'moves', findings: [{ identifier: 'AA' }] }]);
  expect(await readStatement('CORE-FEE')).toHaveLength(1); // CORE-FEE is derived from CORE
  expect(await readStatement('EVEN')).toEqual([]);
});

test('the source corrects its price: published closes stay until an error policy decides about them', async () => {
  await folder.write(createFiles(day2));
  await service.ask('POST', '/data/stores/vendor/refresh', { full: true });
  await service.waitForJob('refresh:vendor');
  const day = await performDay(service, day2);
  expect(listFindings(day)).toEqual(['CORE published null blocked']);
  expect((await listPublishedDates(service, 'EVEN')).at(-1)).toBe(day2);
  const errors = { materiality_bps: 1, correction_window: 5 };
  await putSchedule(service, { enabled: false, steps: [...steps.slice(0, 3), { type: 'publish', errors }] });
  const decidedDay = await performDay(service, day2);
  expect(decidedDay.state).toBe('done');
  expect(listFindings(decidedDay)).toEqual(['CORE published null done', 'CORE-FEE published null done']);
  const { body } = await service.ask<{ errors: object[] }>('GET', '/analytics/CORE/published/errors');
  expect(body.errors).toMatchObject([{ decision: 'restated', first: day2 }]);
  await putSchedule(service, { enabled: false, steps });
});

test('a history that the vendor changes is reported, and the security is not updated', async () => {
  await folder.write({
    ...createFiles(day3),
    ...createFiles(day1, (price, security) => (security === 'BB' ? price + 1 : price)),
  });
  const day = await performDay(service, day3);
  expect(listFindings(day).filter((line) => line.includes('history'))).toEqual([
    'CORE history BB blocked',
    'EVEN history BB blocked',
  ]);
  expect(listFindings(day).filter((line) => line.includes('coverage'))).toEqual([
    'CORE coverage BB blocked',
    'EVEN coverage BB blocked',
  ]);
  const otherCount =
    listFindings(day).filter((line) => line.startsWith('CORE ') && line.endsWith(' blocked')).length - 1;
  const reason = day.held.find(({ index_id: id }) => id === 'CORE')!.reason;
  expect(reason).toMatch(new RegExp(`^BB .* And ${otherCount} more findings?\\.$`));
  await folder.write(createFiles(day1));
  expect((await performDay(service, day3)).state).toBe('done');
});

test('a second source that differs blocks its index', async () => {
  const level = (
    await service.ask<{ data: number[][] }>('GET', `/analytics/CORE/exports/levels?format=json&start=${day3}`)
  ).body.data[0]!;
  await folder.write({
    ...createFiles(day4),
    'series.csv': `identifier,date,CLOSE\nCALC,${day3},${level[3]}\nCALC,${day4},1\n`,
  });
  const compare = { type: 'compare', second_source: { CORE: 'CALC' } };
  await putSchedule(service, {
    enabled: false,
    steps: [{ type: 'refresh' }, { type: 'run' }, compare, { type: 'publish' }],
  });
  const day = await performDay(service, day4);
  expect([day.state, day.held.map(({ index_id }) => index_id)]).toEqual(['blocked', ['CORE', 'CORE-FEE']]);
  expect(day.reason).toContain('The difference is');
  expect((await performDay(service, day3)).state).toBe('done');
});
