import { pino } from 'pino';
import { expect, test } from 'vitest';
import { eventRoutes, EventsView } from '#contract/calendars.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { selectScheduleAround } from '#domain/definition/index-schedule.js';
import { createApp } from '#http/app.js';
import { createEventHandlers } from '#http/routes.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createEvents } from '#services/indices/events.js';
import { createIndexSchedules } from '#services/indices/calendars.js';
import type { DocumentStore } from '#store/port.js';
import { createTestContext } from '../../services/context.js';

const calendars = openCalendars();
const documents = [
  { id: 'LAGGED', rebalance: { frequency: 'monthly', anchor: 'third_friday', effective_lag: 5 } },
  { id: 'QUARTERS', rebalance: { frequency: 'quarterly' } },
  { id: 'TOKYO', name: 'Tōkyō; 東京, großes und sehr langes Börsenverzeichnis aller Werte', calendar: 'XTKS' },
].map((fields) =>
  IndexDocument.parse({
    name: fields.id,
    calendar: 'XNYS',
    base_date: '2024-01-02',
    pipeline: { weighting: { type: 'EqualWeight' } },
    ...fields,
  }),
);
const blend = IndexDocument.parse({
  id: 'BLEND',
  name: 'BLEND',
  calendar: 'XNYS',
  base_date: '2024-01-02',
  kind: 'overlay',
  overlay: {
    type: 'blend',
    parts: [
      { index_id: 'LAGGED', weight: 0.6 },
      { index_id: 'QUARTERS', weight: 0.4 },
    ],
    rebalance: { frequency: 'semi_annual', anchor: 'last_session', effective_lag: 1 },
  },
});
documents.push(blend);
const storedDocuments: Pick<DocumentStore, 'get' | 'list'> = {
  list: (_kind, read) =>
    Promise.resolve({
      documents: documents.map((body) => read(body, body.id, { etag: '', updatedAt: '' })!),
      skipped: 0,
      skipped_causes: { invalid: 0, unsupported: 0, unreadable: 0 },
    }),
  get: (_kind, id) => {
    const body = documents.find((document) => document.id === id);
    return Promise.resolve(body && { id, body: { ...body }, etag: id, updatedAt: '' });
  },
};
const readToday = () => parseValidDay('2026-11-20');
const findIndex = async (id: string) => documents.find((document) => document.id === id)!;
const createSchedule = createIndexSchedules(calendars, findIndex, () => Promise.resolve(undefined));
const app = createApp({
  api: eventRoutes,
  handlers: createEventHandlers(
    createEvents(createTestContext({ documents: storedDocuments, calendars }), createSchedule, readToday),
    readToday,
  ),
  authenticate: () => ({ keyId: null, name: null, scopes: new Set(['read'] as const) }),
  version: '0',
  log: pino({ level: 'silent' }),
});
const get = async (query: string, headers = {}) => {
  const response = await app.fetch(new Request(`http://localhost/events${query}`, { headers }));
  return { status: response.status, type: response.headers.get('Content-Type'), text: await response.text() };
};
const requestEvents = async (query: string) => {
  const { status, text } = await get(query);
  expect(status).toBe(200);
  return EventsView.parse(JSON.parse(text)).events;
};

test('a composition is decided five sessions before it takes effect, holidays not counted', async () => {
  const result = await requestEvents('?from=2027-01-01&to=2027-02-28&index_ids=LAGGED&kinds=announcement,effective');
  // Third Fridays are 15 January and 19 February. 15 February is a holiday.
  expect(result.map(({ date, kind, effective }) => [date, kind, effective])).toEqual([
    ['2027-01-08', 'announcement', '2027-01-15'],
    ['2027-01-15', 'effective', '2027-01-15'],
    ['2027-02-11', 'announcement', '2027-02-19'],
    ['2027-02-19', 'effective', '2027-02-19'],
  ]);
  // A rebalance after the window is announced within it.
  const [last] = await requestEvents('?from=2027-02-11&to=2027-02-12&index_ids=LAGGED&kinds=announcement');
  expect(last!.effective).toBe('2027-02-19');
});

test('New York is closed on its holidays of 2027, and its futures expire a day early in June', async () => {
  const result = await requestEvents('?from=2027-01-01&to=2027-12-31&index_ids=QUARTERS&kinds=holiday,expiry');
  const listByKind = (wanted: string) => result.filter(({ kind }) => kind === wanted).map(({ date }) => date.slice(5));
  expect(result.find(({ date }) => date === '2027-02-15')!.summary).toBe("XNYS: Washington's Birthday");
  // New Year, Martin Luther King Day, Washington's Birthday, Good Friday, Memorial Day, Juneteenth, Independence Day,
  // Labor Day, Thanksgiving, Christmas.
  expect(listByKind('holiday')).toEqual([
    '01-01',
    '01-18',
    '02-15',
    '03-26',
    '05-31',
    '06-18',
    '07-05',
    '09-06',
    '11-25',
    '12-24',
  ]);
  // The third Friday of June is a holiday, Juneteenth (observed).
  expect(listByKind('expiry')).toEqual(['03-19', '06-17', '09-17', '12-17']);
});

test('sessions of New York that close early by rule are events, after the day without a session', async () => {
  const result = await requestEvents('?from=2026-11-20&to=2027-12-31&index_ids=QUARTERS&kinds=holiday,early_close');
  // Christmas Eve of 2027 is closed, because Christmas Day is on a Saturday; 3 July 2027 is a Saturday.
  expect(result.filter(({ kind }) => kind === 'early_close').map(({ date, summary }) => [date, summary])).toEqual([
    ['2026-11-27', 'XNYS: closes 13:00: Day after Thanksgiving'],
    ['2026-12-24', 'XNYS: closes 13:00: Christmas Eve'],
    ['2027-11-26', 'XNYS: closes 13:00: Day after Thanksgiving'],
  ]);
  expect(result.slice(0, 2).map(({ date, kind }) => [date, kind])).toEqual([
    ['2026-11-26', 'holiday'],
    ['2026-11-27', 'early_close'],
  ]);
});

test('effective dates are those of the schedule of each index, and each exchange appears once', async () => {
  const result = await requestEvents('');
  for (const { id, rebalance, calendar: code, base_date: base } of documents.filter(({ id }) => id !== 'BLEND')) {
    const calendar = calendars.get(code)!;
    const schedule = { baseDay: parseValidDay(base), cadences: [{ rebalance, calendar }], called: [] };
    const { upcoming } = selectScheduleAround({ schedule, asOf: readToday() - 1, limit: 400 });
    const shownEvents = result.filter((event) => event.index_id === id && event.kind === 'effective');
    const dates = upcoming.map(({ date }) => formatDay(date)).filter((date) => date <= '2027-11-21');
    expect(shownEvents.map(({ date }) => date)).toEqual(dates);
  }
  expect(result.map(({ date }) => date)).toEqual(result.map(({ date }) => date).toSorted());
  const holidays = result.filter(({ kind }) => kind === 'holiday').map(({ date, calendar }) => `${calendar} ${date}`);
  expect(new Set(holidays).size).toBe(holidays.length);
  expect(holidays).toContain('XNYS 2026-11-26');
  expect(holidays).toContain('XTKS 2027-01-01');
});

test('a blend has the rebalances of its parts in addition to its own, with one event per day', async () => {
  const window = '?from=2027-06-01&to=2027-07-31';
  const listByKind = async (id: string) =>
    (await requestEvents(`${window}&index_ids=${id}&kinds=announcement,effective`)).map(
      ({ date, kind, effective }) => `${date} ${kind} ${effective}`,
    );
  const [lagged, quarters] = [await listByKind('LAGGED'), await listByKind('QUARTERS')];
  // The last session of June is Wednesday the 30th. The rebalance on it is decided on the 29th.
  const ownEvents = ['2027-06-29 announcement 2027-06-30', '2027-06-30 effective 2027-06-30'];
  expect(lagged).toContain('2027-06-21 effective 2027-06-21'); // the Friday is Juneteenth (observed)
  expect(quarters).toHaveLength(1);
  expect((await listByKind('BLEND')).toSorted()).toEqual(
    [...new Set([...lagged, ...quarters, ...ownEvents])].toSorted(),
  );
});

test('an answer states the range of the calendars, and omits it if no index has one', async () => {
  const read = async (query: string) => {
    const { covered_from: from, covered_to: to } = EventsView.parse(JSON.parse((await get(query)).text));
    return { from, to };
  };
  const [york, tokyo] = ['XNYS', 'XTKS'].map((code) => calendars.get(code)!.coverage);
  const ownRange = { from: formatDay(york!.from), to: formatDay(york!.to) };
  expect(await read('?from=2100-01-01&index_ids=LAGGED')).toEqual(ownRange);
  const commonRange = { from: Math.max(york!.from, tokyo!.from), to: Math.min(york!.to, tokyo!.to) };
  expect(await read('')).toEqual({ from: formatDay(commonRange.from), to: formatDay(commonRange.to) });
  expect(await requestEvents('?from=1700-01-01&to=1700-12-31&index_ids=LAGGED')).toEqual([]);
  expect(await read('?from=1700-01-01&to=1700-12-31&index_ids=LAGGED')).toEqual(ownRange);
});

test('a calendar file without an event states its coverage', async () => {
  const { text } = await get('?from=1700-01-01&to=1700-12-31&index_ids=LAGGED&format=ics');
  const lines = text.replaceAll('\r\n ', '').split('\r\n');
  const { from, to } = calendars.get('XNYS')!.coverage;
  expect(lines).toContain(
    `DESCRIPTION:Events from 1700-01-01 to 1700-12-31. All calendars of the indices cover ${formatDay(from)} to ${formatDay(to)}: outside\\, events are missing.`,
  );
  // RFC 5545, 3.6: a calendar has at least one component.
  expect(lines.filter((line) => line.startsWith('BEGIN:'))).toEqual([
    'BEGIN:VCALENDAR',
    'BEGIN:VTIMEZONE',
    'BEGIN:STANDARD',
  ]);
});

test('a calendar file has every event as a separate day, in lines of at most 75 octets', async () => {
  const { text, type } = await get('?index_ids=TOKYO', { Accept: 'text/calendar' });
  expect(type).toBe('text/calendar; charset=utf-8');
  expect(await get('?index_ids=TOKYO&format=ics')).toMatchObject({ text });
  const lines = text.split('\r\n');
  expect(lines.every((line) => Buffer.byteLength(line) <= 75)).toBe(true);
  const unfoldedLines = text.replaceAll('\r\n ', '').split('\r\n');
  const listValues = (name: string) =>
    unfoldedLines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1));
  const expected = await requestEvents('?index_ids=TOKYO');
  expect(listValues('DTSTART;VALUE=DATE')).toEqual(expected.map(({ date }) => date.replaceAll('-', '')));
  expect(listValues('SUMMARY').map((value) => value.replaceAll(/\\([;,\\])/g, '$1'))).toEqual(
    expected.map(({ summary, index_id: id }) => (id === null ? summary : `${summary} (${id})`)),
  );
  expect(new Set(expected.map(({ index_id: id }) => id))).toEqual(new Set([null, 'TOKYO']));
  expect(new Set(listValues('UID')).size).toBe(expected.length);
  // An index without a name is shown by its id.
  expect((await get('?index_ids=LAGGED&format=ics')).text).not.toContain('(LAGGED)');
});

test.each([
  ['?from=2027-02-01&to=2027-01-01', 422],
  ['?from=2000-01-01&to=2026-01-01', 422],
  ['?index_ids=NONE', 404],
  ['?kinds=party', 422],
])('%s is refused', async (query, status) => {
  expect((await get(query)).status).toBe(status);
});
