import { setImmediate } from 'node:timers/promises';
import type { ClosureEffect } from '#contract/closures.js';
import type { ExchangeCalendar } from '#domain/calendars/calendars.js';
import { listSessionsOnlyIn } from '#domain/calendars/correct-calendars.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { RecordedClosures } from '#domain/calendars/closures.js';
import { findDueDay } from '#domain/daily-plans/due-days.js';
import { readIndex } from '#domain/checks/validate-index.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { listIndexDates, type IndexSchedule } from '#domain/schedule/index-schedule.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import { ScheduleDocument } from '#domain/daily-plans/schedule-document.js';
import { hasEnded, readDay } from '../daily-plans/stored-days.js';
import type { RunStates } from '../runs/run-states.js';
import { readRun } from '../stored/run-documents.js';
import { readLogBatches, readLogHead } from '#store/publication/log.js';
import type { DocumentStore } from '#store/port.js';
import { readStored } from '#store/read-stored.js';

export interface ClosureEffectsDependencies {
  readonly documents: DocumentStore;
  readonly calendars: Calendars;
  /** Creates the schedules of indices on calendars. @throws Refusal if an underlying index was deleted */
  readonly schedulesOn: (calendars: Calendars) => (document: IndexDocument) => Promise<IndexSchedule>;
  readonly states: Pick<RunStates, 'reasonsWith'>;
  readonly now: () => number;
}

/** Number of indices that are compared in one turn of the event loop: about 10 ms. */
const INDICES_PER_TURN = 32;

/**
 * Creates a function that compares two states of one calendar. @cost reads every index and the plan of its run, and
 * published logs if past sessions change
 */
export function createClosureEffects({ documents, calendars, schedulesOn, states, now }: ClosureEffectsDependencies) {
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
    const run = storedDocument && readStored(storedDocument, readRun);
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
        const day = await readDay(documents, id, date);
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
