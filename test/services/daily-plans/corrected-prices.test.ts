import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ScheduleDay } from '#domain/outputs/daily-plans.js';
import { runService, type RunningService } from '../running-service.js';
import { createFamilyOn, createFiles, listPublishedDates, performDay, putSchedule, SESSIONS } from './family.js';

/** Each test depends on the previous test: the days follow each other. */
let service: RunningService;
let folder: Awaited<ReturnType<typeof createFamilyOn>>;
const [day1, day2, day3, day4] = SESSIONS.slice(9) as [string, string, string, string];
const steps = [{ type: 'refresh' }, { type: 'run' }, { type: 'checks' }, { type: 'publish' }];

beforeAll(async () => {
  service = await runService();
  folder = await createFamilyOn(service, 9);
  await putSchedule(service, { enabled: false, steps });
});
afterAll(() => service.close());

const raise = (name: string) => (price: number, security: string) => (security === name ? price * 1.4 : price);

const listRefreshFindings = ({ steps: [refresh] }: ScheduleDay) =>
  (refresh!.items[0]!.detail!['findings'] as { code: string; path: string }[])
    .filter(({ code }) => code !== 'PARTIAL_DATE')
    .map(({ code, path }) => `${code} ${path}`);

async function readClose(identifier: string, date: string): Promise<string> {
  const { body } = await service.ask<{ prices: { index: string[]; columns: string[]; data: number[][] } }>(
    'GET',
    `/data/prices/${identifier}?start=${date}&end=${date}`,
  );
  return String(body.prices.data[0]![body.prices.columns.indexOf('CLOSE')]);
}

function readVendorClose(identifier: string, date: string): string {
  const [text] = Object.values(createFiles(date));
  return text!
    .split('\n')
    .find((row) => row.startsWith(`${identifier},`))!
    .split(',')[2]!;
}

test('a wrong price of the first day, before anything is published, is corrected by the source', async () => {
  await folder.write(createFiles(day1, raise('AA')));
  expect((await performDay(service, day1)).state).toBe('blocked');
  await folder.write(createFiles(day1));
  const day = await performDay(service, day1);
  expect([day.state, listRefreshFindings(day)]).toEqual(['done', ['BAR_CORRECTED market.AA']]);
  const message = '0 dates and 0 rows added, 1 row changed. The source corrected AA.';
  expect([day.steps[0]!.message, day.steps[0]!.items[0]!.message]).toEqual([message, message]);
  expect(await readClose('AA', day1)).toBe(readVendorClose('AA', day1));
  expect((await listPublishedDates(service, 'CORE')).at(-1)).toBe(day1);
});

test('a wrong price that holds a day back is corrected by the source, and a published one is not', async () => {
  await folder.write(createFiles(day2, raise('BB')));
  expect((await performDay(service, day2)).state).toBe('blocked');
  await folder.write({
    ...createFiles(day2),
    ...createFiles(day1, (price, security) => (security === 'CC' ? price + 1 : price)),
  });
  const day = await performDay(service, day2);
  expect(listRefreshFindings(day)).toEqual(['BAR_CORRECTED market.BB', 'HISTORY_CHANGED market.CC']);
  expect(day.steps[0]!.message).toContain(
    'The source corrected BB. The refresh rejected the changed history of CC, without its new bars.',
  );
  expect(await readClose('BB', day2)).toBe(readVendorClose('BB', day2));
  expect(await readClose('CC', day1)).toBe(readVendorClose('CC', day1));
  await folder.write(createFiles(day1));
  expect((await performDay(service, day2)).state).toBe('done');
  expect((await listPublishedDates(service, 'CORE')).at(-1)).toBe(day2);
});

test('a close that is missing in the evening is read again by the next attempt', async () => {
  const evening = Object.entries(createFiles(day3)).map(([name, text]) => [
    name,
    text.replace(/^DD,([^,]*),[^,]*,/m, 'DD,$1,,'),
  ]);
  await folder.write(Object.fromEntries(evening) as Record<string, string>);
  expect((await performDay(service, day3)).state).toBe('blocked');
  await folder.write(createFiles(day3));
  const day = await performDay(service, day3);
  expect([day.state, listRefreshFindings(day)]).toEqual(['done', ['LATE_BARS market']]);
  expect((await listPublishedDates(service, 'CORE')).at(-1)).toBe(day3);
});

test('closes that miss the bar of a security with a rejected history name this security', async () => {
  await putSchedule(
    service,
    { enabled: false, steps: [{ type: 'refresh' }, { type: 'run' }, { type: 'publish' }], starts_on: day4 },
    'plain',
  );
  await folder.write({
    ...createFiles(day4),
    ...createFiles(day1, (price, security) => (security === 'CC' ? price + 1 : price)),
  });
  const { held } = await performDay(service, day4, {}, 'plain');
  expect(held[0]).toMatchObject({ index_id: 'CORE', code: 'PARTIAL_CLOSES' });
  expect(held[0]!.reason).toMatch(/ The refresh rejected the changed history of CC, without its new bars\.$/);
});
