import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Publication } from '#contract/publication.js';
import type { PublicationEntry, PublishedError } from '#domain/definition/publication.js';
import { findDisagreements, measureDisagreements } from '#services/publication/publications.js';
import { verifyLog } from '#store/history/publication-log.js';
import { createFamilyOn, createFiles, performDay, putSchedule, SESSIONS, type Edit } from '../daily-plans/family.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with an index whose vendor corrects prices. Each test depends on the previous test. */
let service: RunningService;
let folder: Awaited<ReturnType<typeof createFamilyOn>>;
const readSession = (k: number): string => SESSIONS[k]!;

beforeAll(async () => {
  service = await runService();
  folder = await createFamilyOn(service, 10);
  await rerun();
  expect((await publish({})).published).toBe(10);
});
afterAll(() => service.close());

async function rerun(): Promise<void> {
  await service.ask('POST', '/analytics/CORE/backtest', {});
  expect((await service.waitForJob('backtest:CORE')).status).toBe('succeeded');
}

/** Delivers the file of a session for the first time, or again. */
async function deliverDay(k: number, edit?: Edit): Promise<void> {
  await folder.write(createFiles(readSession(k), edit));
  const { body } = await service.ask<{ job_id: string }>('POST', '/data/sync', { full: true });
  expect((await service.waitForJob(body.job_id)).status).toBe('succeeded');
}

const publish = async (request: object) =>
  (await service.ask<Publication>('POST', '/analytics/CORE/publish', request)).body;
const readErrorRegister = async () =>
  (await service.ask<{ errors: PublishedError[] }>('GET', '/analytics/CORE/published/errors')).body.errors;
const readEntries = async () =>
  (await service.ask<{ entries: PublicationEntry[] }>('GET', '/analytics/CORE/published')).body.entries;
const createScalingEdit =
  (security: string, factor: number): Edit =>
  (price, name) =>
    name === security ? Math.round(price * factor * 100) / 100 : price;

test('the largest change is the earliest of those that are equal within rounding', () => {
  const dates = [readSession(0), readSession(1), readSession(2)];
  const before = new Map([100, 300, 700].map((price, k) => [dates[k]!, { price, total: null, net: null }]));
  const noLevels = [null, null, null];
  const measure = (price: readonly number[]) =>
    measureDisagreements(
      dates.map((date, position) => ({ date, position })),
      { dates, price, total: noLevels, net: noLevels } as never,
      before as never,
    ).largest?.date;
  expect(measure([200, 600 * (1 + 2e-16), 1400 * (1 + 4e-16)])).toBe(dates[0]);
  expect(measure([200, 600, 1400.001])).toBe(dates[2]);
});

const policy = { materiality_bps: 5, correction_window: 3 };

test('levels that differ by rounding only are no changed levels', () => {
  const level = 1252.6049124413228;
  const closes = {
    dates: [readSession(0), readSession(1), readSession(2)],
    price: [level * 1.001, level * (1 + 4e-16), level],
  };
  const publishedLevels = new Map(closes.dates.map((date) => [date, { price: level, total: null, net: null }]));
  const all = closes.dates.map((date, position) => ({ date, position }));
  const noLevels = [null, null, null];
  const sizes = measureDisagreements(
    all,
    { ...closes, total: noLevels, net: noLevels } as never,
    publishedLevels as never,
  );
  expect(sizes).toMatchObject({ levels_changed: 1, largest: { date: readSession(0) } });
});

test('of the closes after a correction, only those disagree that differ after the rounding of the index', () => {
  const dates = [readSession(0), readSession(1), readSession(2), readSession(3)];
  const none = dates.map(() => null);
  const createEntry = (price: number) => ({ price, total: null, net: null, divisor: 2.5, composition_hash: 'h' });
  const published = new Map(dates.map((date) => [date, createEntry(1252.6)]));
  const find = (price: readonly number[], composition: readonly string[] = ['h', 'h', 'h', 'h']) =>
    findDisagreements(
      {
        dates,
        price,
        total: none,
        net: none,
        divisor: [2.5, 2.5, 2.5, 2.5],
        composition_hash: composition,
        rounded: dates.map(() => false),
        traded: dates.map(() => true),
      } as never,
      published as never,
    ).map(({ date }) => date);
  const noise = 1252.6 * (1 + 7e-16);
  expect(noise).not.toBe(1252.6);
  expect(find([1252.6, 1252.7, noise, noise])).toEqual([dates[1]]);
  expect(find([noise, noise, noise, noise], ['h', 'h', 'other', 'h'])).toEqual([dates[2]]);
});

test('of an index that rounds its levels, a composition that only a correction below the rounding changes does not disagree', () => {
  const dates = [0, 1, 2, 3, 4].map(readSession);
  const figures = { price: 100.88, total: null, net: null, divisor: 1 };
  const published = new Map(dates.map((date) => [date, { ...figures, composition_hash: 'h' }]));
  const find = (composition: string, { traded = [], rounded = true }: { traded?: number[]; rounded?: boolean } = {}) =>
    findDisagreements(
      {
        dates,
        price: dates.map(() => 100.88),
        total: dates.map(() => null),
        net: dates.map(() => null),
        divisor: dates.map(() => 1),
        composition_hash: [...composition],
        rounded: dates.map(() => rounded),
        traded: dates.map((_, i) => traded.includes(i)),
      } as never,
      published as never,
    ).map(({ date }) => dates.indexOf(date));
  expect(find('hhxhh', { rounded: false })).toEqual([2]);
  expect(find('hhxhh')).toEqual([]);
  expect(find('hhxyz')).toEqual([]); // the last composition drifts from the published one
  expect(find('hhxhh', { traded: [2] })).toEqual([]); // the trades lead to the composition that is published after them
  expect(find('hhxxx', { traded: [2] })).toEqual([2, 3, 4]); // the trades are others
  expect(find('hhxxx', { traded: [2, 3] })).toEqual([2, 3, 4]);
  expect(find('xxxxx')).toEqual([0, 1, 2, 3, 4]);
});

test('a difference below the threshold is not restated, and the next close has the notice once', async () => {
  await deliverDay(9, createScalingEdit('FF', 1.0005)); // a change in one of six equal weights, about a basis point in total
  await deliverDay(10);
  await rerun();
  const refusal = await service.refusal('POST', '/analytics/CORE/publish', {});
  expect(refusal.code).toBe('RESTATEMENT'); // without a restatement policy
  const before = await readEntries();
  const answer = await publish({ error_policy: policy });
  expect(answer).toMatchObject({
    published: 1,
    restated: 0,
    error: { decision: 'left', dates: 1, first: readSession(9) },
  });
  const log = await readEntries();
  expect(log.slice(0, 10)).toEqual(before);
  expect(log[10]).toMatchObject({ kind: 'close', date: readSession(10), reason: answer.error!.notice });
  const [error, ...otherErrors] = await readErrorRegister();
  expect(otherErrors).toEqual([]);
  // Computed by hand: the published level compared with the level of the run.
  const { published, run, change_bps } = error!.largest!;
  expect(change_bps).toBeCloseTo(10_000 * (run / published - 1), 9);
  expect(Math.abs(change_bps)).toBeLessThan(5);

  await deliverDay(11);
  await rerun();
  expect(await publish({ error_policy: policy })).toMatchObject({ published: 1, error: { decision: 'left' } });
  expect(await readErrorRegister()).toHaveLength(1); // the error is already registered
  expect((await readEntries()).at(-1)!.reason).toBeNull();
});

test('a material error within the window is restated from its first material date by a schedule', async () => {
  await deliverDay(11, createScalingEdit('BB', 1.05));
  await folder.write(createFiles(readSession(12)));
  const steps = [{ type: 'refresh' }, { type: 'run' }, { type: 'publish', errors: policy }];
  await putSchedule(service, { enabled: false, indices: ['CORE'], starts_on: readSession(12), steps });
  const doneDay = await performDay(service, readSession(12));
  expect(doneDay.state).toBe('done');
  expect(doneDay.steps[2]!.items[0]!.message).toContain('published again');
  const log = await readEntries();
  expect(log.filter(({ kind }) => kind === 'restatement').map(({ date }) => date)).toEqual([readSession(11)]);
  expect(log.at(-1)).toMatchObject({ kind: 'close', date: readSession(12) });
  const [error] = await readErrorRegister();
  expect(error).toMatchObject({ seq: 2, decision: 'restated', restated: 1, material_from: readSession(11), policy });
  expect(log.find(({ kind }) => kind === 'restatement')!.reason).toBe(error!.reason);
  expect(error!.notice).toContain(`CORE: the close of ${readSession(11)} was published again. Largest change`);
  expect(error!.first).toBe(readSession(9)); // the immaterial difference is part of the error, but stays published
});

test('a material error before the window is announced, and published closes stay', async () => {
  await deliverDay(5, createScalingEdit('CC', 0.9));
  await deliverDay(13);
  await rerun();
  const before = await readEntries();
  const answer = await publish({ error_policy: policy });
  expect(answer).toMatchObject({ published: 1, restated: 0, error: { decision: 'announced' } });
  expect((await readEntries()).slice(0, before.length)).toEqual(before);
  expect((await readErrorRegister())[0]!.notice).toContain('were wrong and stand as published');
});

test('a restatement by a person is registered with its reason, and the log is still intact', async () => {
  const reason = 'Agreed with clients';
  const { restated, error } = await publish({ restate: true, reason });
  expect(restated).toBeGreaterThan(0);
  expect(error).toMatchObject({ decision: 'restated', policy: null, reason, restated });
  expect((await readErrorRegister()).map(({ seq, decision }) => [seq, decision])).toEqual([
    [4, 'restated'],
    [3, 'announced'],
    [2, 'restated'],
    [1, 'left'],
  ]);
  const log = await readEntries();
  expect(verifyLog(log, { keys: null, head: log.at(-1)!.hash })).toMatchObject({ entries: log.length });
  const { body } = await service.ask<{ entries: { id: string; note: string | null }[] }>(
    'GET',
    '/audit?kind=publication-error',
  );
  expect(body.entries.map(({ id }) => id)).toEqual([1, 2, 3, 4].map((n) => `CORE/000000000${n}`));
});
