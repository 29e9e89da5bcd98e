import type { Schedule } from '#contract/schedules.js';
import type { ScheduleDay } from '#domain/outputs/daily-plans.js';
import type { PublicationEntry } from '#domain/definition/publication.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { seeded } from '../../seeded.js';
import { serveFolder } from '../datasets/served-folder.js';
import type { RunningService } from '../running-service.js';
import { waitFor } from '../../waiting.js';

export const SECURITIES = ['AA', 'BB', 'CC', 'DD', 'EE', 'FF'];

/** Sessions of New York from 1 June 2023 on. */
export const SESSIONS = listSessionsFrom('2023-06-01', 60);

function listSessionsFrom(start: string, count: number): readonly string[] {
  const days = [...openCalendars().get('XNYS')!.sessions].filter((day) => day >= parseValidDay(start));
  return days.slice(0, count).map(formatDay);
}

/** Closes of every security by session. They are equal in every test. */
const CLOSES: readonly (readonly number[])[] = (() => {
  const random = seeded(7);
  let row = SECURITIES.map((_, i) => 20 + 10 * i);
  return SESSIONS.map(() => (row = row.map((price) => Math.round(price * (1 + (random() - 0.5) * 0.03) * 100) / 100)));
})();

export type Edit = (price: number, security: string) => number | null;

/**
 * Returns the file of the vendor for a session.
 * @param edit changes a delivered price; null removes it
 */
export function createFiles(date: string, edit: Edit = (price) => price): Readonly<Record<string, string>> {
  const k = SESSIONS.indexOf(date);
  const rows = SECURITIES.flatMap((security, i) => {
    const price = edit(CLOSES[k]![i]!, security);
    return price === null ? [] : [`${security},${date},${price},1000000,50000000`];
  });
  return { [`market/${date}.csv`]: `identifier,date,CLOSE,VOLUME,SHARES_OUTSTANDING\n${rows.join('\n')}\n` };
}

export const createDefinition = (id: string, weighting: string, change: object = {}) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: SESSIONS[0],
  rebalance: { frequency: 'monthly' },
  pipeline: { weighting: { type: weighting } },
  ...change,
});

/** Ids of a family of three: two indices, and an overlay on the first index. */
export const FAMILY = ['CORE', 'EVEN', 'CORE-FEE'];

/** Creates the market's first sessions and the family on a service. */
export async function createFamilyOn(service: RunningService, count: number) {
  const files = SESSIONS.slice(0, count).reduce<Record<string, string>>(
    (all, date) => ({ ...all, ...createFiles(date) }),
    {},
  );
  const folder = await serveFolder(service, 'vendor', files);
  const put = async (id: string, body: object) => {
    const { status, body: answer } = await service.ask('PUT', `/indices/${id}`, body);
    if (status !== 200) throw new Error(JSON.stringify(answer));
  };
  await put('CORE', createDefinition('CORE', 'EqualWeight'));
  await put('EVEN', createDefinition('EVEN', 'EqualWeight', { rebalance: { frequency: 'quarterly' } }));
  await put('CORE-FEE', {
    id: 'CORE-FEE',
    name: 'CORE-FEE',
    calendar: 'XNYS',
    base_date: SESSIONS[0],
    kind: 'overlay',
    source_index_id: 'CORE',
    overlay: { type: 'decrement', percent: 0.05 },
  });
  return folder;
}

/** Returns a schedule. Its first day is the last of the initial sessions. */
export const schedule = (change: object): object => ({
  name: 'Close',
  indices: FAMILY,
  calendar: 'XNYS',
  at: '18:30',
  starts_on: SESSIONS[9],
  catch_up: 0,
  steps: [{ type: 'refresh' }, { type: 'run' }, { type: 'publish' }],
  ...change,
});

export const readDay = async (service: RunningService, date: string, id = 'close') =>
  (await service.ask<ScheduleDay>('GET', `/schedules/${id}/days/${date}`)).body;

/** Waits until the service has done all that it can do now for a day. */
export async function waitForSettledDay(service: RunningService, date: string, id = 'close'): Promise<ScheduleDay> {
  return waitFor(async () => {
    const day = await readDay(service, date, id);
    const isSettled = day.state !== undefined && day.state !== 'running' && day.rounds > 0;
    const isDue = day.next_attempt_at != null && Date.parse(day.next_attempt_at) <= Date.now();
    if (!isSettled || isDue) throw new Error(`${date}: ${JSON.stringify(day).slice(0, 300)}`);
    return day;
  });
}

/** Starts a day. Waits until the service has done all that it can do now for this day. */
export async function performDay(service: RunningService, date: string, request: object = {}, id = 'close') {
  const before = (await readDay(service, date, id)).rounds ?? 0;
  const { status, body } = await service.ask('POST', `/schedules/${id}/days/${date}/run`, request);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return waitFor(async () => {
    const day = await waitForSettledDay(service, date, id);
    if (day.rounds <= before) throw new Error('not begun');
    return day;
  });
}

export const putSchedule = (service: RunningService, change: object = {}, id = 'close') =>
  service.ask<Schedule>('PUT', `/schedules/${id}`, schedule(change));

/** Returns the dates in the published log of an index, in log order. */
export async function listPublishedDates(service: RunningService, indexId: string): Promise<string[]> {
  const { body } = await service.ask<{ readonly entries?: readonly PublicationEntry[] }>(
    'GET',
    `/analytics/${indexId}/published`,
  );
  return (body.entries ?? []).map(({ date }) => date);
}
