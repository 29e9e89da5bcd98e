import { pino } from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { ErrorEnvelope } from '#contract/payloads.js';
import { CalendarList, calendarRoutes, ScheduleView } from '#contract/calendars.js';
import { parseValidDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { Refusal } from '#domain/base/refusals.js';
import { type App, createApp } from '#http/app.js';
import { deriveHandlers } from '#http/routes.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createCalendarViews, createIndexSchedules } from '#services/indices/calendars.js';
import { createTestContext } from '../../services/context.js';

const findDocument = (id: string, rest: object) =>
  IndexDocument.parse({
    id,
    name: id,
    calendar: 'XNYS',
    base_date: '2024-01-02',
    pipeline: { weighting: { type: 'EqualWeight' } },
    ...rest,
  });
const DOCUMENTS = new Map(
  [
    findDocument('QUARTERS', {}),
    findDocument('LAGGED', { rebalance: { frequency: 'monthly', anchor: 'third_friday', effective_lag: 5 } }),
    findDocument('DAILY', { base_date: '1971-01-04', rebalance: { frequency: 'daily' } }),
    findDocument('MONDAYS', {
      calendar: 'XTKS',
      base_date: '2019-04-17',
      rebalance: { frequency: 'weekly', weekday: 0, roll: 'unadjusted', effective_lag: 1 },
    }),
    findDocument('SUNDAYS', {
      rebalance: { frequency: 'monthly', anchor: 'day_of_month', day: 31, roll: 'unadjusted' },
    }),
    findDocument('TABLES', { calendar: 'XTAE', rebalance: { frequency: 'monthly' } }),
  ].map((each) => [each.id, each]),
);

let app: App;
beforeAll(() => {
  const calendars = openCalendars();
  async function readIndex(id: string) {
    const entry = DOCUMENTS.get(id);
    if (entry === undefined) throw new Refusal('INDEX_NOT_FOUND', `No index ${id}.`);
    return entry;
  }
  const createSchedule = createIndexSchedules(calendars, readIndex, () => Promise.resolve(undefined));
  const views = createCalendarViews(
    createTestContext({ calendars }),
    async (id) => createSchedule(await readIndex(id)),
    () => parseValidDay('2026-11-20'),
  );
  const acceptReader = () => ({ keyId: null, name: null, scopes: new Set(['read'] as const) });
  app = createApp({
    api: calendarRoutes,
    handlers: deriveHandlers(calendarRoutes, { calendarViews: views }),
    authenticate: acceptReader,
    version: '0',
    log: pino({ level: 'silent' }),
  });
});

const get = async (path: string) => {
  const response = await app.fetch(new Request(`http://localhost${path}`));
  return { status: response.status, body: await response.json() };
};
const requestRefusal = async (path: string) => {
  const { status, body } = await get(path);
  return { status, ...ErrorEnvelope.parse(body).error };
};
const schedule = async (path: string) => {
  const { status, body } = await get(path);
  expect(status, JSON.stringify(body)).toBe(200);
  return ScheduleView.parse(body);
};

describe('GET /indices/calendars', () => {
  test('serves every code of the coverage, sorted, with one of them as the default', async () => {
    const { status, body } = await get('/indices/calendars');
    expect(status).toBe(200);
    const list = CalendarList.parse(body);
    const codes = list.calendars.map(({ code }) => code);
    expect(codes.length).toBeGreaterThanOrEqual(100);
    expect(codes).toEqual(codes.toSorted());
    expect(list.default).toBe('XNYS');
    expect(list.calendars.filter(({ sources }) => sources.length === 0)).toEqual([]);
    expect(list.calendars.find(({ code }) => code === 'XNYS')).toEqual({
      code: 'XNYS',
      name: 'New York Stock Exchange',
      region: 'America',
      tz: 'America/New_York',
      coverage: { from: '1970-01-01', published_to: '2027-12-31', to: '2030-12-31' },
      sources: expect.arrayContaining([expect.stringContaining('exchange_calendars')]),
    });
    expect(list.calendars.find(({ code }) => code === 'XBOG')!.tz).toBe('America/Bogota');
    expect(list.calendars.filter(({ region }) => region === 'UTC').map(({ code }) => code)).toEqual(['24/5', '24/7']);
  });

  test('has no query parameters', async () => {
    expect(await requestRefusal('/indices/calendars?limit=3')).toMatchObject({
      status: 422,
      code: 'VALIDATION_FAILED',
    });
  });
});

describe('GET /indices/{index_id}/schedule', () => {
  test('shows four dates on either side of the requested date', async () => {
    expect(await schedule('/indices/QUARTERS/schedule?asof=2025-06-30')).toEqual({
      index_id: 'QUARTERS',
      as_of: '2025-06-30',
      calendar: 'XNYS',
      frequency: 'quarterly',
      recent: ['2025-06-30', '2025-03-31', '2024-12-31', '2024-09-30'],
      upcoming: ['2025-09-30', '2025-12-31', '2026-03-31', '2026-06-30'],
      lookahead_end: '2026-07-01',
    });
  });

  test('starts today by default', async () => {
    const { as_of, recent, upcoming } = await schedule('/indices/QUARTERS/schedule?limit=1');
    expect([as_of, recent, upcoming]).toEqual(['2026-11-20', ['2026-09-30'], ['2026-12-31']]);
  });

  test('shows nothing before the base date, and the base rebalance on its first session', async () => {
    expect((await schedule('/indices/QUARTERS/schedule?asof=2024-06-30&limit=512')).recent).toEqual([
      '2024-06-28',
      '2024-03-28',
      '2024-01-02',
    ]);
    const before = await schedule('/indices/QUARTERS/schedule?asof=2023-06-30');
    expect([before.recent, before.upcoming]).toEqual([[], ['2024-01-02', '2024-03-28', '2024-06-28']]);
  });

  test('looks ahead 366 days regardless of the limit', async () => {
    const { recent, upcoming, lookahead_end } = await schedule('/indices/DAILY/schedule?asof=2025-01-01&limit=512');
    expect([recent.length, recent[0], upcoming[0], upcoming.at(-1), lookahead_end]).toEqual([
      512,
      '2024-12-31',
      '2025-01-02',
      '2026-01-02',
      '2026-01-02',
    ]);
    expect(upcoming.length).toBe(251);
  });

  test('looks no further than the sessions of the calendar', async () => {
    const { upcoming, lookahead_end } = await schedule('/indices/TABLES/schedule');
    expect([upcoming, lookahead_end]).toEqual([['2026-11-30', '2026-12-31'], '2026-12-31']);
  });

  test('lists the announcements of an index with a lag for each date', async () => {
    const { recent, upcoming, announcements } = await schedule('/indices/LAGGED/schedule?asof=2024-05-01&limit=2');
    expect([recent, upcoming]).toEqual([
      ['2024-04-19', '2024-03-15'],
      ['2024-05-17', '2024-06-21'],
    ]);
    expect(announcements).toEqual({
      '2024-03-15': '2024-03-08',
      '2024-04-19': '2024-04-12',
      '2024-05-17': '2024-05-10',
      '2024-06-21': '2024-06-13',
    });
  });

  test('keeps the dates of an unadjusted schedule', async () => {
    expect((await schedule('/indices/SUNDAYS/schedule?asof=2024-03-30&limit=1')).upcoming).toEqual(['2024-03-31']);
    expect((await schedule('/indices/SUNDAYS/schedule?asof=2024-03-31&limit=1')).recent).toEqual(['2024-03-31']);
  });

  test('keeps every date of an unadjusted schedule and its announcement, also of two that come to one session', async () => {
    const { recent, upcoming, announcements } = await schedule('/indices/MONDAYS/schedule?asof=2019-04-30&limit=2');
    expect([recent, upcoming]).toEqual([
      ['2019-04-29', '2019-04-22'],
      ['2019-05-06', '2019-05-13'],
    ]);
    expect(announcements).toEqual({
      '2019-04-22': '2019-04-19',
      '2019-04-29': '2019-04-25',
      '2019-05-06': '2019-04-25',
      '2019-05-13': '2019-05-10',
    });
  });

  test('accepts as_of instead of asof, and refuses two dates', async () => {
    expect((await schedule('/indices/QUARTERS/schedule?as_of=2025-06-30')).as_of).toBe('2025-06-30');
    expect((await schedule('/indices/QUARTERS/schedule?as_of=2025-06-30&asof=2025-06-30')).as_of).toBe('2025-06-30');
    const refusal = await requestRefusal('/indices/QUARTERS/schedule?as_of=2025-06-30&asof=2025-06-29');
    expect(refusal).toMatchObject({
      status: 422,
      code: 'VALIDATION_FAILED',
      detail: { findings: [{ path: 'as_of' }] },
    });
  });

  test('refuses a limit outside 1 to 512 and a day that does not exist', async () => {
    for (const query of [
      'limit=0',
      'limit=513',
      'limit=2.5',
      'limit=x',
      'asof=2025-02-30',
      'asof=today',
      'asof=',
      'frequency=daily',
    ]) {
      expect((await get(`/indices/QUARTERS/schedule?${query}`)).status, query).toBe(422);
    }
    expect((await schedule('/indices/QUARTERS/schedule?limit=512')).recent.length).toBe(12);
  });

  test('an unknown index is reported', async () => {
    expect(await requestRefusal('/indices/NOBODY/schedule')).toMatchObject({ status: 404, code: 'INDEX_NOT_FOUND' });
  });
});
