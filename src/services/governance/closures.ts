import { setImmediate } from 'node:timers/promises';
import type { CalendarClosures, ClosureEffect } from '#contract/calendars.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import {
  type Calendars,
  ClosuresDocument,
  type RecordedClosures,
  type SessionChange,
  type VersionedClosures,
} from '#domain/calendars/calendar.js';
import {
  correctCalendars,
  createCalendarFileName,
  type ExchangeCalendar,
  findUsualHours,
  listSessionsOnlyIn,
} from '#domain/calendars/exchange-calendars.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { type IndexSchedule, listIndexDates } from '#domain/definition/index-schedule.js';
import { readIndex } from '#domain/definition/index-validation.js';
import type { Authorship } from '#domain/definition/versions.js';
import { findDueDay, ScheduleDocument } from '#domain/outputs/daily-plans.js';
import { readLastVersion } from '#store/history/history.js';
import { readLogBatches, readLogHead } from '#store/history/publication-log.js';
import { type DocumentReader, type DocumentTransaction, parseStored, readStoredBody } from '#store/port.js';
import { hasEnded, readPlanDay } from '../daily-plans/stored-days.js';
import { ALL_CLOSURES, readRecordedClosures } from '../indices/calendars.js';
import type { Context } from '../shared/context.js';
import { assertPrecondition, type Precondition } from '../shared/documents.js';
import { readRun } from '../shared/run-documents.js';

/** Number of indices that are compared in one turn of the event loop: about 10 ms. */
const INDICES_PER_TURN = 32;

/**
 * Creates a function that compares two states of one calendar. @cost reads every index and the plan of its run, and
 * published logs if past sessions change
 * @param schedulesOn creates the schedules of indices on calendars. @throws Refusal if an underlying index was deleted
 */
export function createClosureEffects(
  { documents, calendars, states, now }: Context,
  schedulesOn: (calendars: Calendars) => (document: IndexDocument) => Promise<IndexSchedule>,
) {
  const addCalendar = (calendar: ExchangeCalendar): Calendars => ({
    list: () => calendars.list(),
    get: (code) => (code === calendar.code ? calendar : calendars.get(code)),
  });

  /**
   * Returns the effective dates and their announcements as text. Returns an empty set if an underlying index was
   * deleted.
   */
  async function listDates(
    computeSchedule: (document: IndexDocument) => Promise<IndexSchedule>,
    document: IndexDocument,
  ) {
    try {
      const dates = listIndexDates(await computeSchedule(document));
      return new Set(dates.map(({ date, announcement }) => `${formatDay(date)} ${formatDay(announcement)}`));
    } catch (failure) {
      if (failure instanceof Refusal) return new Set<string>();
      throw failure;
    }
  }

  async function readPublished(indexId: string, dates: ReadonlySet<string>) {
    const head = await readLogHead(documents, indexId);
    const publishedDates = new Set<string>();
    let lastDate = '';
    if (head === undefined) return { found: publishedDates, last: lastDate };
    for await (const batch of readLogBatches(documents, indexId, head)) {
      for (const { date } of batch) {
        if (dates.has(date)) publishedDates.add(date);
        if (date > lastDate) lastDate = date;
      }
      await setImmediate();
    }
    return { found: publishedDates, last: lastDate };
  }

  /**
   * Returns the reasons why recorded closures make the latest run of an index stale. Returns no reasons if the index
   * has no run.
   */
  async function readStaleReasons(indexId: string, recordedClosures: RecordedClosures): Promise<string[]> {
    const storedDocument = await documents.get('run', indexId);
    const run = storedDocument && readStoredBody(storedDocument, readRun);
    return run === undefined ? [] : [...(await states.reasonsWith(run, recordedClosures))];
  }

  async function readIndices(
    before: ExchangeCalendar,
    after: ExchangeCalendar,
    { added, removed, recorded }: ChangedSessions & { readonly recorded: RecordedClosures },
  ) {
    const { documents: allIndices } = await documents.list('index', readIndex);
    const [was, is] = [schedulesOn(addCalendar(before)), schedulesOn(addCalendar(after))];
    const hasPastDate = [...added, ...removed].some((date) => 86_400_000 * parseValidDay(date) <= now());
    const indices: ClosureEffect['indices'] = [];
    for (const [at, document] of allIndices.entries()) {
      if (at % INDICES_PER_TURN === INDICES_PER_TURN - 1) await setImmediate();
      const staleReasons = await readStaleReasons(document.id, recorded);
      if (document.calendar !== before.code && staleReasons.length === 0) continue;
      const [old, fresh] = [await listDates(was, document), await listDates(is, document)];
      const log = hasPastDate
        ? await readPublished(document.id, new Set(removed))
        : { found: new Set<string>(), last: '' };
      indices.push({
        index_id: document.id,
        stale: staleReasons,
        before: listMovedDates(old, fresh),
        after: listMovedDates(fresh, old),
        published: [...log.found].toSorted(),
        unpublished: added.filter((date) => date < log.last),
      });
    }
    return indices;
  }

  async function readSchedules(calendar: ExchangeCalendar, { added, removed }: ChangedSessions) {
    const { documents: allSchedules } = await documents.list('schedule', (body, id) => {
      const plan = ScheduleDocument.safeParse(body).data;
      return plan && { id, plan };
    });
    const schedules: ClosureEffect['schedules'] = [];
    for (const { id, plan } of allSchedules) {
      if (plan.calendar !== calendar.code) continue;
      const endedSchedules: string[] = [];
      for (const date of removed) {
        const day = await readPlanDay(documents, id, date);
        if (day !== undefined && !hasEnded(day)) endedSchedules.push(date);
      }
      const missingSessions = added.filter(
        (date) => date >= plan.starts_on && findDueDay(parseValidDay(date), plan, calendar).dueMs <= now(),
      );
      if (endedSchedules.length > 0 || missingSessions.length > 0)
        schedules.push({ schedule_id: id, ended: endedSchedules, missing: missingSessions });
    }
    return schedules;
  }

  return async (
    before: ExchangeCalendar,
    after: ExchangeCalendar,
    recordedClosures: RecordedClosures,
  ): Promise<ClosureEffect> => {
    const changedSessions = { added: listSessionsOnlyIn(after, before), removed: listSessionsOnlyIn(before, after) };
    const isUnchanged = changedSessions.added.length === 0 && changedSessions.removed.length === 0;
    return {
      ...changedSessions,
      hours: listChangedHours(before, after),
      indices: isUnchanged ? [] : await readIndices(before, after, { ...changedSessions, recorded: recordedClosures }),
      schedules: isUnchanged ? [] : await readSchedules(after, changedSessions),
    };
  };
}

interface ChangedSessions {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Lists the dates of the first set that are not in the other set. The sets contain texts `DATE ANNOUNCEMENT`. */
const listMovedDates = (before: ReadonlySet<string>, other: ReadonlySet<string>) =>
  [...before].flatMap((text) => {
    if (other.has(text)) return [];
    const [date, announcement] = text.split(' ');
    return [{ date: date!, announcement: announcement! }];
  });

/** Returns the sessions that a calendar has before and after a change, but with different hours. */
function listChangedHours(before: ExchangeCalendar, after: ExchangeCalendar): string[] {
  const changes = [...(before.recorded?.changes ?? []), ...(after.recorded?.changes ?? [])];
  const days = [...new Set(changes.map(({ date }) => parseValidDay(date)))].toSorted((a, b) => a - b);
  return days
    .filter((day) => before.isSession(day) && after.isSession(day))
    .filter((day) => JSON.stringify(before.hoursOn(day)) !== JSON.stringify(after.hoursOn(day)))
    .map(formatDay);
}

export interface StoredClosures {
  readonly closures: CalendarClosures;
  /** ETag of the document; null if no closure was ever recorded. */
  readonly etag: string | null;
}

/** Recorded changes of calendars: unscheduled closures, half days, late openings, additional sessions. */
export interface Closures {
  /** Lists calendars with recorded changes, by code. */
  list(): Promise<CalendarClosures[]>;
  /** Returns the recorded changes of a calendar. @throws Refusal CALENDAR_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(code: string): Promise<StoredClosures>;
  /**
   * Lists the effects that changes would have. Stores nothing. @throws Refusal CALENDAR_NOT_FOUND, VALIDATION_FAILED
   */
  computeEffect(code: string, document: ClosuresDocument): Promise<ClosureEffect>;
  /** Replaces the changes of a calendar. @throws Refusal CALENDAR_NOT_FOUND, VALIDATION_FAILED, PRECONDITION_FAILED */
  put(
    code: string,
    document: ClosuresDocument,
    ifMatch: Precondition | undefined,
    by: Authorship,
  ): Promise<StoredClosures>;
  /** Deletes the changes of a calendar. @throws Refusal CALENDAR_NOT_FOUND, PRECONDITION_FAILED */
  remove(code: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

const KIND = 'closures';

/**
 * @param compare lists the differences between two states of one calendar
 * @param endClosedDays makes open days due immediately if their schedule has no session on that day; clients can then
 * wait for these days to end
 */
export function createClosures(
  { documents, calendars }: Context,
  compare: (before: ExchangeCalendar, after: ExchangeCalendar, recorded: RecordedClosures) => Promise<ClosureEffect>,
  endClosedDays: (code: string) => Promise<void>,
): Closures {
  /** Returns a calendar. @throws Refusal CALENDAR_NOT_FOUND */
  function requireCalendar(code: string): ExchangeCalendar {
    const option = calendars
      .list()
      .find((calendarOption) => createCalendarFileName(calendarOption.code) === createCalendarFileName(code));
    const calendar = option && calendars.base.get(option.code);
    if (calendar !== undefined) return calendar;
    throw new Refusal('CALENDAR_NOT_FOUND', `No calendar has the code ${code}; GET /indices/calendars lists them.`, {
      calendar: code,
    });
  }

  async function get(code: string): Promise<StoredClosures> {
    const calendar = requireCalendar(code);
    const id = createCalendarFileName(calendar.code);
    const [stored, version] = await Promise.all([
      documents.get(KIND, id),
      readLastVersion(documents, { kind: KIND, id }),
    ]);
    const calendarSummary = { calendar: calendar.code, name: calendar.name, version };
    if (stored === undefined) return { closures: { ...calendarSummary, updated_at: null, changes: [] }, etag: null };
    const document = parseStored(stored, ClosuresDocument);
    if ('unreadable' in stored || document === undefined)
      throw new Refusal('DOCUMENT_UNREADABLE', `The changes of ${calendar.code} cannot be read; record them again.`);
    return { closures: { ...calendarSummary, updated_at: stored.updatedAt, ...document }, etag: stored.etag };
  }

  async function list(): Promise<CalendarClosures[]> {
    const codes = calendars.list().map(({ code }) => code);
    const ids = new Set(await documents.ids(KIND));
    const calendarCodes = codes.filter((code) => ids.has(createCalendarFileName(code))).toSorted(compareText);
    return (await Promise.all(calendarCodes.map(get))).map(({ closures }) => closures);
  }

  /**
   * Returns the changed sessions of all calendars, including the new changes of one calendar. Plans contain these
   * sessions.
   */
  async function mergeSessions(
    reader: Pick<DocumentReader, 'get'>,
    calendar: ExchangeCalendar,
    { changes: closureChanges, version }: VersionedClosures,
  ): Promise<RecordedClosures> {
    const changes = closureChanges.flatMap(({ date, session, reason }) =>
      calendar.isSession(parseValidDay(date)) === (session === 'open') ? [] : [{ date, session, reason }],
    );
    const otherClosures = (await readRecordedClosures(reader).catch(() => undefined)) ?? {};
    return { ...otherClosures, [calendar.code]: { version, changes } };
  }

  async function writeSessions(
    tx: DocumentTransaction,
    calendar: ExchangeCalendar,
    { changes }: ClosuresDocument,
  ): Promise<void> {
    const version = await readLastVersion(tx, { kind: KIND, id: createCalendarFileName(calendar.code) });
    const next = await mergeSessions(tx, calendar, { changes, version });
    await tx.put('recorded-closures', ALL_CLOSURES, next);
    tx.publish({ type: 'closures-recorded', calendar: calendar.code });
  }

  /**
   * Applies the recorded changes before the response is sent. Other processes apply them later, when they receive the
   * event of the commit.
   */
  async function followCalendar({ code }: ExchangeCalendar): Promise<void> {
    await calendars.follow();
    await endClosedDays(code);
  }

  return {
    list,
    get,
    async computeEffect(code, document) {
      const calendar = requireCalendar(code);
      const { changes } = sortChanges(document, calendar);
      const { code: name } = calendar;
      const version = 1 + (await readLastVersion(documents, { kind: KIND, id: createCalendarFileName(name) }));
      const after = correctCalendars(calendars.base, { [name]: { version, changes } }).get(name)!;
      return compare(calendars.get(name)!, after, await mergeSessions(documents, calendar, { changes, version }));
    },
    async put(code, document, ifMatch, authorship) {
      const calendar = requireCalendar(code);
      const orderedClosures = sortChanges(document, calendar);
      await documents.transaction(
        async (tx) => {
          await assertPrecondition(tx, KIND, createCalendarFileName(calendar.code), ifMatch);
          await tx.put(KIND, createCalendarFileName(calendar.code), orderedClosures);
          await writeSessions(tx, calendar, orderedClosures);
        },
        { by: authorship },
      );
      await followCalendar(calendar);
      return get(code);
    },
    async remove(code, ifMatch, authorship) {
      const calendar = requireCalendar(code);
      const id = createCalendarFileName(calendar.code);
      if ((await documents.get(KIND, id)) === undefined)
        throw new Refusal('CALENDAR_NOT_FOUND', `No changes of ${calendar.code} are recorded.`);
      await documents.transaction(
        async (tx) => {
          await assertPrecondition(tx, KIND, id, ifMatch);
          await tx.delete(KIND, id);
          await writeSessions(tx, calendar, { changes: [] });
        },
        { by: authorship },
      );
      await followCalendar(calendar);
    },
  };
}

/** Returns changes by date. @throws Refusal VALIDATION_FAILED */
function sortChanges({ changes }: ClosuresDocument, calendar: ExchangeCalendar): ClosuresDocument {
  const findings = changes.flatMap((change, i) => checkChange(change, { calendar, i, changes }));
  if (findings.length > 0) throw refuseWithFindings('changes', findings);
  return { changes: changes.toSorted((a, b) => compareText(a.date, b.date)) };
}

function checkChange(
  { date, session, opens, closes }: SessionChange,
  {
    calendar,
    i,
    changes,
  }: { readonly calendar: ExchangeCalendar; readonly i: number; readonly changes: readonly SessionChange[] },
): Finding[] {
  const { code, coverage } = calendar;
  const day = parseValidDay(date);
  const createError = (member: string, message: string): Finding[] => [
    { severity: 'error', code: 'BAD_DATE', path: `changes[${i}].${member}`, message, value: date },
  ];
  if (changes.findIndex((other) => other.date === date) < i) return createError('date', `${date} occurs twice.`);
  if (day < coverage.from || day > coverage.to)
    return createError('date', `${code} covers ${formatDay(coverage.from)} to ${formatDay(coverage.to)}, not ${date}.`);
  const hasHours = opens !== undefined || closes !== undefined;
  const isSession = calendar.isSession(day);
  if (session === 'closed' && !isSession) return createError('date', `${date} is already not a session of ${code}.`);
  if (session === 'closed' && hasHours) return createError('session', `A closed day has neither opens nor closes.`);
  if (session === 'open' && isSession && !hasHours)
    return createError('date', `${date} is a session of ${code}; give opens or closes if its hours differ.`);
  const usualHours = findUsualHours(calendar, day);
  const [from, to] = [opens ?? usualHours?.open, closes ?? usualHours?.close];
  // A session can usually start or end on another date. Its opening time may then be later than its closing time.
  const isWithinDay = usualHours === undefined || (usualHours.openDay === 0 && usualHours.open < usualHours.close);
  if (session === 'open' && isWithinDay && from !== undefined && to !== undefined && from >= to)
    return createError(
      closes === undefined ? 'opens' : 'closes',
      `The session of ${date} would open at ${from} and close at ${to}.`,
    );
  return [];
}
