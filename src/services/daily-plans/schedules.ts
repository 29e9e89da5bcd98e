import { ScheduleDocument, type ScheduleBody } from '#domain/daily-plans/schedule-document.js';
import { isTimeZone, toLocalDay } from '#domain/time/local-time.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { LOCAL_AUTHOR, type Authorship } from '#domain/documents/version-document.js';
import { isWithin } from '#domain/documents/reach.js';
import type { Finding } from '#domain/refusals/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { formatDay } from '#domain/time/days.js';
import { readLastVersion, loadVersion } from '#store/history/history.js';
import { findCurrentReach } from '#store/reach/reach-context.js';
import { suggestName } from '#base/text/nearest-name.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { outside } from '../operations/access.js';
import { findIndex } from '../stored/stored-indices.js';
import type { Precondition } from '../shared/preconditions.js';
import { openStoredFamily, type StoredPage, type PageQuery } from '../shared/stored-family.js';
import type { AuthoredPlan } from './new-day.js';
import {
  listMisplacedSteps,
  listNamedDocuments,
  listNamedIndices,
  listSecondSources,
  reportRepeatedNames,
} from './plan-faults.js';

export interface StoredSchedule {
  readonly schedule: ScheduleDocument & { readonly schedule_id: string; readonly updated_at: string };
  readonly etag: string;
}

/** Schedules in the form that their runner reads. */
export interface ScheduleReader {
  ids(): Promise<readonly string[]>;
  /** Returns the schedule with version and author; undefined if it was deleted or is unreadable. */
  authored(id: string): Promise<AuthoredPlan | undefined>;
}

export interface Schedules extends ScheduleReader {
  page(query: PageQuery): Promise<StoredPage<StoredSchedule['schedule']>>;
  /** Returns a schedule. @throws Refusal SCHEDULE_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredSchedule>;
  /** Creates or replaces a schedule. @throws Refusal VALIDATION_FAILED, PRECONDITION_FAILED */
  put(id: string, body: ScheduleBody, ifMatch: Precondition | undefined, by?: Authorship): Promise<StoredSchedule>;
  /** Deletes a schedule. @throws Refusal SCHEDULE_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

export interface SchedulesDependencies {
  readonly documents: DocumentStore;
  readonly calendars: Calendars;
  readonly now: () => number;
  /** Returns the market of an index. Default: the series of second sources are not compared with the data. */
  readonly findMarket?: (indexId: string) => Promise<ServedMarket>;
}

export function createSchedules({ documents, calendars, now, findMarket }: SchedulesDependencies): Schedules {
  const family = openStoredFamily(documents, {
    kind: 'schedule',
    word: 'schedule',
    read: (body) => ScheduleDocument.safeParse(body).data,
  });

  async function get(id: string): Promise<StoredSchedule> {
    const { document, etag, updatedAt } = await family.get(id);
    return { schedule: { schedule_id: id, ...document, updated_at: updatedAt }, etag };
  }

  /** Returns today's date in the time zone of the exchange. A new schedule starts on this day. */
  function readToday({ calendar, time_zone: zone }: ScheduleBody): string {
    return formatDay(toLocalDay(zone ?? calendars.get(calendar)!.tz, now())); // listFindings has validated the calendar
  }

  /** Returns the series of the store of an index. Returns undefined if the store cannot be read now. */
  async function listSeries(index: string): Promise<readonly string[] | undefined> {
    try {
      const served = await findMarket?.(index);
      return served && [...(served.market.series?.keys() ?? [])];
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  async function listFindings(id: string, body: ScheduleBody): Promise<Finding[]> {
    const { calendar, time_zone: zone, indices } = body;
    const findings: Finding[] = [];
    const reportError = (code: Finding['code'], path: string, message: string, value?: unknown): void =>
      void findings.push({ severity: 'error', code, path, message, ...(value !== undefined && { value }) });
    if (calendars.get(calendar) === undefined)
      reportError('UNKNOWN_CALENDAR', 'calendar', `${calendar} is not a calendar of /indices/calendars.`, calendar);
    if (zone !== null && !isTimeZone(zone))
      reportError(
        'NOT_IN_CHOICES',
        'time_zone',
        `${zone} is not a time zone of the IANA database, for example America/New_York.`,
        zone,
      );
    for (const [k, index] of indices.entries()) {
      if (indices.indexOf(index) < k) reportError('DUPLICATE_ID', `indices[${k}]`, `${index} is listed twice.`, index);
      else if ((await findIndex(documents, index)) === undefined)
        reportError('UNKNOWN_INDEX', `indices[${k}]`, `No index is stored under the id ${index}.`, index);
    }
    const secondSources = listSecondSources(body);
    const namedIndices = [...listNamedIndices(body), ...secondSources.map(({ path, index }) => [path, index] as const)];
    for (const [path, index] of namedIndices)
      if (!indices.includes(index))
        reportError('UNKNOWN_INDEX', path, `${index} is not an index of the schedule.`, index);
    if (findings.length === 0)
      for (const { path, index, series, isRefreshed } of secondSources) {
        const names = await listSeries(index);
        if (names === undefined || names.includes(series) || (isRefreshed && names.length === 0)) continue;
        const storedText = names.length === 0 ? ' The store has no series.' : suggestName(series, names);
        const message = `${series} is not a series of the data store of ${index}.${storedText}`;
        reportError('UNKNOWN_IDENTIFIER', path, message, series);
      }
    for (const [path, message] of listMisplacedSteps(body)) reportError('INVALID_RANGE', path, message);
    for (const { path, pattern, message } of reportRepeatedNames(id, body))
      reportError('DUPLICATE_ID', path, message, pattern);
    for (const { path, kind, word, name } of listNamedDocuments(body))
      if ((await documents.get(kind, name)) === undefined)
        reportError('REQUIRED', path, `No ${word} is stored under the id ${name}.`, name);
    return findings;
  }

  return {
    get,
    remove: family.remove,
    page: (query) => family.page(query, async (id) => (await get(id)).schedule),
    ids: () => documents.ids('schedule'),
    async put(id, body, ifMatch, authorship) {
      assertOwnSchedule(body);
      const findings = await listFindings(id, body);
      if (findings.length > 0) throw refuseWithFindings('schedule', findings);
      // A write without `starts_on` keeps the start of the schedule.
      const starts_on = body.starts_on ?? (await findPlan(id))?.starts_on ?? readToday(body);
      await family.put(id, { ...body, starts_on }, ifMatch, authorship);
      return get(id);
    },
    async authored(id) {
      const plan = await findPlan(id);
      if (plan === undefined) return undefined;
      const subject = { kind: 'schedule', id } as const;
      const number = await readLastVersion(documents, subject);
      const version = number === 0 ? undefined : await loadVersion(documents, subject, number);
      const { author = LOCAL_AUTHOR, key_id: keyId = null } = typeof version === 'object' ? version : {};
      return { id, plan, version: number === 0 ? null : number, author, keyId };
    },
  };

  /** Returns the stored plan of a schedule; undefined if it is not stored or is unreadable. */
  async function findPlan(id: string): Promise<ScheduleDocument | undefined> {
    const storedDocument = await documents.get('schedule', id);
    return parseStored(storedDocument, ScheduleDocument);
  }
}

/** Refuses indices that a client may read but not run or publish. @throws Refusal FORBIDDEN_ID */
function assertOwnSchedule({ indices }: ScheduleBody): void {
  const reach = findCurrentReach();
  const other = reach && indices.find((id) => !isWithin(reach, id));
  if (other !== undefined) throw outside(reach!, 'index', other);
}

/** Returns a schedule with its author. @throws Refusal SCHEDULE_NOT_FOUND */
export async function requireSchedule(schedules: Pick<ScheduleReader, 'authored'>, id: string): Promise<AuthoredPlan> {
  const schedule = await schedules.authored(id);
  if (schedule !== undefined) return schedule;
  throw new Refusal('SCHEDULE_NOT_FOUND', `No schedule is stored under the id ${id}.`, { schedule_id: id });
}
