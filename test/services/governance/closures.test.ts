import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CalendarClosures, RecordedCalendarClosures } from '#contract/calendars.js';
import type { PublicationEntry } from '#domain/definition/publication.js';
import {
  createDefinition,
  createFamilyOn,
  createFiles,
  performDay,
  listPublishedDates,
  putSchedule,
  SESSIONS,
  waitForSettledDay,
} from '../daily-plans/family.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with an exchange that closes without notice. Each test depends on the previous test. */
let service: RunningService;
let folder: Awaited<ReturnType<typeof createFamilyOn>>;
const readSession = (k: number): string => SESSIONS[k]!;
const CLOSURES = '/calendars/XNYS/closures';
const POLICY = { materiality_bps: 0.01, correction_window: 1000 };
const createClosure = (date: string, reason = 'Storm') => ({ date, session: 'closed', reason });

beforeAll(async () => {
  service = await runService();
  folder = await createFamilyOn(service, 30);
  const publish = { type: 'publish', errors: POLICY };
  await putSchedule(service, { enabled: false, steps: [{ type: 'refresh' }, { type: 'run' }, publish] });
  await runBacktest('CORE');
  const precedingIndex = createDefinition('BACK', 'EqualWeight', {
    rebalance: { frequency: 'monthly', roll: 'preceding' },
  });
  await service.ask('PUT', '/indices/BACK', precedingIndex);
  await runBacktest('BACK');
  await service.ask('PUT', '/indices/TWO', {
    id: 'TWO',
    name: 'Two',
    calendar: 'XNYS',
    base_date: readSession(0),
    kind: 'overlay',
    overlay: {
      type: 'blend',
      parts: ['CORE', 'EVEN'].map((index_id) => ({ index_id, weight: 0.5 })),
      rebalance: { frequency: 'none' },
    },
  });
  await runBacktest('TWO');
});
afterAll(() => service.close());

async function runBacktest(id: string): Promise<void> {
  await service.ask('POST', `/analytics/${id}/backtest`, {});
  expect((await service.waitForJob(`backtest:${id}`)).status).toBe('succeeded');
}
const put = (changes: readonly object[], dry_run = false) =>
  service.ask<RecordedCalendarClosures>('PUT', CLOSURES, { changes, dry_run });
const readStale = async (id: string) =>
  (await service.ask<{ stale: { reasons: string[] } | null }>('GET', `/analytics/${id}/overview`)).body.stale;
const readLevels = async (id: string) =>
  (await service.ask<{ levels: { index: string[] } }>('GET', `/analytics/${id}/levels`)).body.levels;

/** Last session of June 2023. The monthly index is rebalanced on it. */
const MONTH_END = '2023-06-30';
/** Session on which indices rebalance, after the last date of every run. */
const LATER_DATE = '2023-12-29';

test('a dry run lists sessions, rebalances and published closes that would change, and stores nothing', async () => {
  await service.ask('POST', '/analytics/CORE/publish', {});
  const { body } = await put(
    [createClosure(MONTH_END), { ...createClosure('2023-07-01', 'Catch-up'), session: 'open' }],
    true,
  );
  expect(body).toMatchObject({ dry_run: true, version: 0 });
  const { indices, ...effect } = body.effect;
  expect(effect).toMatchObject({ added: ['2023-07-01'], removed: [MONTH_END], hours: [] });
  const core = indices.find(({ index_id: id }) => id === 'CORE')!;
  expect(core).toMatchObject({ published: [MONTH_END], unpublished: ['2023-07-01'] });
  expect(core.before.map(({ date }) => date)).toEqual([MONTH_END]);
  expect(core.after.map(({ date }) => date)).toEqual(['2023-07-01']);
  expect(core.stale).toEqual([`The calendar XNYS changed since this run: ${MONTH_END}, 2023-07-01.`]);
  expect(indices.map(({ index_id: id }) => id).toSorted()).toEqual(['BACK', 'CORE', 'CORE-FEE', 'EVEN', 'TWO']);
  const storedClosures = await service.ask<CalendarClosures>('GET', CLOSURES);
  expect(storedClosures.body).toMatchObject({ version: 0, changes: [], updated_at: null });
  expect(await readStale('CORE')).toBeNull();
});

/** Sessions from the end of the run to the end of its month. */
const REST_OF_MONTH = [17, 18, 19, 20, 21, 24, 25, 26, 27, 28, 31].map((date) => `2023-07-${date}`);

test.each([
  ['after the end of a run', [LATER_DATE], []],
  ['that moves a rebalance into a run', REST_OF_MONTH, ['BACK']],
])('of closures, one %s makes stale only the runs whose sessions or rebalances change', async (_, dates, ids) => {
  const { body } = await put(
    dates.map((date) => createClosure(date)),
    true,
  );
  expect(body.effect.indices.filter(({ stale }) => stale.length > 0).map(({ index_id: id }) => id)).toEqual(ids);
});

test.each([
  ['a closure of a day without a session', [createClosure('2023-07-04')], 'changes[0].date', 'already not a session'],
  [
    'a date that occurs twice',
    [createClosure(readSession(3)), createClosure(readSession(3))],
    'changes[1].date',
    'occurs twice',
  ],
  [
    'a session without other hours',
    [{ ...createClosure(readSession(3)), session: 'open' }],
    'changes[0].date',
    'give opens or closes',
  ],
  [
    'a close before the opening',
    [{ ...createClosure(readSession(3)), session: 'open', closes: '09:00' }],
    'changes[0].closes',
    '09:30',
  ],
  [
    'an added session that closes before the usual opening',
    [{ ...createClosure('2023-07-01'), session: 'open', closes: '08:00' }],
    'changes[0].closes',
    '09:30',
  ],
  ['a day before the calendar', [createClosure('1900-01-01')], 'changes[0].date', 'covers'],
])('%s is refused by its place', async (_, changes, path, text) => {
  const { status, detail } = await service.refusal('PUT', CLOSURES, { changes });
  expect(status).toBe(422);
  const [finding] = (detail as { findings: { path: string; message: string }[] }).findings;
  expect(finding!.path).toBe(path);
  expect(finding!.message).toContain(text);
});

test('a recorded closure makes runs stale, and a new run has no such session; the earlier closes stay', async () => {
  const before = await readLevels('CORE');
  expect((await put([createClosure(MONTH_END)])).body).toMatchObject({ version: 1, dry_run: false });
  const staleState = (await readStale('CORE'))!;
  expect(staleState.reasons).toEqual([`The calendar XNYS changed since this run: ${MONTH_END}.`]);
  expect(await readLevels('CORE')).toEqual(before); // levels of the stored run on its own calendar
  await runBacktest('CORE');
  expect((await readLevels('CORE')).index).toEqual(before.index.filter((date) => date !== MONTH_END));
  expect(await readStale('CORE')).toBeNull();
  const preview = await service.ask<{ as_of: string }>('POST', '/indices/CORE/preview', { as_of: MONTH_END });
  expect(JSON.stringify(preview.body)).not.toContain(`"${MONTH_END}T`);
  const { body } = await service.ask<{ recent: string[] }>('GET', '/indices/CORE/schedule?asof=2023-07-15');
  expect(body.recent[0]).toBe('2023-07-03');
});

test('a published close on the closed day stays, and the error policy restates the closes after it', async () => {
  const refusal = await service.refusal('POST', '/analytics/CORE/publish', { restate: true, reason: 'Closed' });
  expect(refusal.code).toBe('RESTATEMENT');
  expect(refusal.message).toContain('error policy');
  const before = await listPublishedDates(service, 'CORE');
  const { body } = await service.ask('POST', '/analytics/CORE/publish', { error_policy: POLICY });
  const laterSessions = before.filter((date) => date > MONTH_END);
  // The rebalance has moved to the next session. The close before the closed day is unchanged.
  const error = { decision: 'restated', first: MONTH_END, material_from: MONTH_END, restated: laterSessions.length };
  expect(body).toMatchObject({ published: 0, restated: laterSessions.length, error });
  expect(await listPublishedDates(service, 'CORE')).toEqual([...before, ...laterSessions]);
});

test('no run becomes stale by hours, by a closure after its end, or by a closure of another exchange', async () => {
  const hours = { date: readSession(25), session: 'open', closes: '13:00', reason: 'Half day' };
  await put([createClosure(MONTH_END), hours, createClosure(LATER_DATE)]);
  expect(await readStale('CORE')).toBeNull();
  const { body } = await service.ask<RecordedCalendarClosures>('PUT', '/calendars/XTKS/closures', {
    changes: [createClosure('2023-07-03')],
  });
  expect(body.effect.indices).toEqual([]);
  expect(await readStale('CORE')).toBeNull();
  const { body: found } = await service.ask<{ events: { date: string; kind: string; summary: string }[] }>(
    'GET',
    '/events?from=2023-06-01&to=2023-07-31&kinds=closure',
  );
  expect(found.events.map(({ date, summary }) => [date, summary])).toEqual([
    [MONTH_END, 'XNYS: closed: Storm'],
    [readSession(25), 'XNYS: closes 13:00: Half day'],
  ]);
});

test('versions are listed, compared and restored, also after a restart', async () => {
  const versions = await service.ask<{ versions: { version: number }[] }>('GET', `${CLOSURES}/versions`);
  expect(versions.body.versions.map(({ version }) => version)).toEqual([2, 1]);
  await service.restart();
  await service.resumed();
  expect((await service.ask<CalendarClosures>('GET', CLOSURES)).body.version).toBe(2);
  const { body } = await service.ask<{ recent: string[] }>('GET', '/indices/CORE/schedule?asof=2023-07-15');
  expect(body.recent[0]).toBe('2023-07-03');
  expect((await service.ask('DELETE', CLOSURES)).status).toBe(204);
  expect((await readStale('CORE'))!.reasons.join()).toContain(MONTH_END);
  expect((await service.ask('POST', `${CLOSURES}/versions/2/restore`)).status).toBe(200);
  expect(await readStale('CORE')).toBeNull();
});

test('an open day of a closed exchange ends with the reason, and the next day publishes with the version used', async () => {
  const date = readSession(30);
  expect((await performDay(service, date)).state).toBe('waiting'); // there are no prices
  const { body } = await put([
    createClosure(MONTH_END),
    createClosure(date, 'Day of mourning'),
    createClosure(LATER_DATE),
  ]);
  expect(body.effect.schedules).toEqual([{ schedule_id: 'close', ended: [date], missing: [] }]);
  await service.ask('GET', `/schedules/close/days/${date}?wait=30`);
  const reason = `XNYS was closed: Day of mourning (version ${body.version} of its changes)`;
  expect(await waitForSettledDay(service, date)).toMatchObject({ state: 'skipped', reason });
  await folder.write(createFiles(readSession(31)));
  expect(await performDay(service, readSession(31))).toMatchObject({ state: 'done', reason: null });
  const keptClosures = [createClosure(MONTH_END), createClosure(date, 'Day of mourning'), createClosure(LATER_DATE)];
  const { effect } = (await put([...keptClosures, createClosure(readSession(31))], true)).body;
  expect(effect.removed).toEqual([readSession(31)]);
  expect(effect.schedules).toEqual([]); // a completed day stays completed
  const { entries } = (await service.ask<{ entries: PublicationEntry[] }>('GET', '/analytics/EVEN/published')).body;
  expect(entries.map((entry) => entry.date)).not.toContain(date);
  expect(entries.at(-1)).toMatchObject({ date: readSession(31), calendar_version: body.version });
});

test('bars of a closed day are reported by the next refresh', async () => {
  const date = readSession(30);
  await folder.write(createFiles(date));
  await service.ask('POST', '/data/stores/vendor/refresh', { full: true });
  expect((await service.waitForJob('refresh:vendor')).status).toBe('succeeded');
  const { body } = await service.ask<{ findings: { code: string; path: string }[] }>('GET', '/data/stores/vendor');
  expect(body.findings).toContainEqual(expect.objectContaining({ code: 'NOT_A_SESSION', path: `market[${date}]` }));
});

test('a published run with a closure is recomputed from its bundle', async () => {
  const bundle = await service.download('/analytics/EVEN/published/bundle');
  expect(bundle.status).toBe(200); // the closes were recomputed from the bundle
});
