import type { CalendarClosures, ClosureEffect } from '#contract/closures.js';
import {
  ClosuresDocument,
  type RecordedClosures,
  type SessionChange,
  type VersionedClosures,
} from '#domain/calendars/closures.js';
import { correctCalendars, findUsualHours } from '#domain/calendars/correct-calendars.js';
import { createFileName, type ExchangeCalendar } from '#domain/calendars/calendars.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { compareText, type Finding } from '#domain/refusals/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { readLastVersion } from '#store/history/history.js';
import type { DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { ALL_CLOSURES, readRecordedClosures, type FollowingCalendars } from '../stored/recorded-closures.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';

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

export interface ClosuresDependencies {
  readonly documents: DocumentStore;
  readonly calendars: FollowingCalendars;
  /** Lists the differences between two states of one calendar. */
  readonly compare: (
    before: ExchangeCalendar,
    after: ExchangeCalendar,
    recorded: RecordedClosures,
  ) => Promise<ClosureEffect>;
  /**
   * Makes open days due immediately if their schedule has no session on that day. Clients can then wait for these days
   * to end.
   */
  readonly endClosedDays: (code: string) => Promise<void>;
}

const KIND = 'closures';

export function createClosures({ documents, calendars, compare, endClosedDays }: ClosuresDependencies): Closures {
  /** Returns a calendar. @throws Refusal CALENDAR_NOT_FOUND */
  function requireCalendar(code: string): ExchangeCalendar {
    const option = calendars
      .list()
      .find((calendarOption) => createFileName(calendarOption.code) === createFileName(code));
    const calendar = option && calendars.base.get(option.code);
    if (calendar !== undefined) return calendar;
    throw new Refusal('CALENDAR_NOT_FOUND', `No calendar has the code ${code}; GET /indices/calendars lists them.`, {
      calendar: code,
    });
  }

  async function get(code: string): Promise<StoredClosures> {
    const calendar = requireCalendar(code);
    const id = createFileName(calendar.code);
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
    const calendarCodes = codes.filter((code) => ids.has(createFileName(code))).toSorted(compareText);
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
    const version = await readLastVersion(tx, { kind: KIND, id: createFileName(calendar.code) });
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
      const version = 1 + (await readLastVersion(documents, { kind: KIND, id: createFileName(name) }));
      const after = correctCalendars(calendars.base, { [name]: { version, changes } }).get(name)!;
      return compare(calendars.get(name)!, after, await mergeSessions(documents, calendar, { changes, version }));
    },
    async put(code, document, ifMatch, authorship) {
      const calendar = requireCalendar(code);
      const orderedClosures = sortChanges(document, calendar);
      await documents.transaction(
        async (tx) => {
          await assertPrecondition(tx, KIND, createFileName(calendar.code), ifMatch);
          await tx.put(KIND, createFileName(calendar.code), orderedClosures);
          await writeSessions(tx, calendar, orderedClosures);
        },
        { by: authorship },
      );
      await followCalendar(calendar);
      return get(code);
    },
    async remove(code, ifMatch, authorship) {
      const calendar = requireCalendar(code);
      const id = createFileName(calendar.code);
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

interface ChangeAt {
  readonly calendar: ExchangeCalendar;
  readonly i: number;
  readonly changes: readonly SessionChange[];
}

/** Checks a change by the rules of its calendar and returns the errors. */
function checkChange({ date, session, opens, closes }: SessionChange, { calendar, i, changes }: ChangeAt): Finding[] {
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
