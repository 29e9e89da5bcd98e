import { findNextDay } from '#domain/daily-plans/due-days.js';
import type { DayDocument, ScheduleDay, ScheduleDaySummary } from '#domain/daily-plans/day-document.js';
import { Judgement } from '#domain/daily-plans/judgement-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import { formatNumberedId } from '#store/document-id.js';
import type { ArtifactStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { DayChanges } from './day-changes.js';
import { createDayDecisions, type DayDecisions, type DayDecisionsDependencies } from './day-decisions.js';
import { listFiles } from './files-of.js';
import { requireSchedule } from './schedules.js';
import { addHoldReason, holdsLaterDays, toDayResponse, createSummary } from './shown-day.js';
import { refuseMissingDay } from './stored-days.js';

export interface DayList {
  readonly days: ScheduleDaySummary[];
  /** Next day of the schedule; null at the end of the calendar and for a disabled schedule. */
  readonly next: { readonly date: string; readonly due_at: string } | null;
}

/** Days of schedules, and decisions of people about them. */
export interface Days extends DayDecisions {
  /** Lists days, newest first. @throws Refusal SCHEDULE_NOT_FOUND */
  list(scheduleId: string, query: { readonly limit: number; readonly before?: string | undefined }): Promise<DayList>;
  /** Returns the day when it has settled, or after a maximum wait. @throws Refusal SCHEDULE_NOT_FOUND, DAY_NOT_FOUND */
  get(scheduleId: string, date: string, patience: DayWaitLimit): Promise<ScheduleDay>;
  /** Returns a file of a day. @throws Refusal SCHEDULE_NOT_FOUND, DAY_NOT_FOUND, FILE_NOT_FOUND, DOCUMENT_UNREADABLE */
  file(scheduleId: string, date: string, name: string): Promise<OpenedFile>;
  /** Lists decisions about a schedule, newest first. @throws Refusal SCHEDULE_NOT_FOUND */
  judgements(scheduleId: string, query: { readonly limit: number }): Promise<readonly Judgement[]>;
}

/** File that a step wrote. */
export interface OpenedFile {
  readonly bytes: number;
  readonly sha256: string;
  open(): Promise<ReadableStream<Uint8Array>>;
}

/** Maximum time that a client waits for a day to settle. */
export interface DayWaitLimit {
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
}

export interface DaysDependencies extends DayDecisionsDependencies {
  readonly changes: Pick<DayChanges, 'watch'>;
  readonly artifacts: Pick<ArtifactStore, 'stream'>;
}

export function createDays(dependencies: DaysDependencies): Days {
  const { documents, schedules, days, changes, artifacts, calendars, now } = dependencies;

  /** Returns the date of the first open day that stops later days. */
  async function findHoldingDay(scheduleId: string): Promise<string | undefined> {
    const { open } = await days.state(scheduleId);
    for (const date of open) {
      const day = await days.get(scheduleId, date);
      if (day !== undefined && holdsLaterDays(day)) return date;
    }
    return undefined;
  }

  return {
    ...createDayDecisions(dependencies),
    async list(scheduleId, { limit, before }) {
      const schedule = await requireSchedule(schedules, scheduleId);
      const dayLimit = before === undefined ? undefined : parseValidDay(before);
      const dayNumbers = await documents.numbers('schedule-day', scheduleId, { below: dayLimit, limit });
      const storedDays = await Promise.all(dayNumbers.map((day) => days.get(scheduleId, formatDay(day))));
      const holdingDay = await findHoldingDay(scheduleId);
      const calendar = calendars.get(schedule.plan.calendar);
      const next = schedule.plan.enabled && calendar ? findNextDay(schedule.plan, calendar, now()) : undefined;
      return {
        days: storedDays.flatMap((day) => (day === undefined ? [] : [addHoldReason(createSummary(day), holdingDay)])),
        next: next === undefined ? null : { date: next.date, due_at: formatTimestamp(next.dueMs) },
      };
    },
    async get(scheduleId, date, { waitSeconds, signal }) {
      const endMs = performance.now() + 1000 * waitSeconds;
      for (;;) {
        const waitMs = endMs - performance.now();
        const watch = waitMs > 0 ? changes.watch(scheduleId, date) : undefined;
        const day = await days.get(scheduleId, date);
        const isWaitOver = day === undefined || isSettled(day, now()) || watch === undefined || signal.aborted;
        await watch?.next(isWaitOver ? 0 : waitMs, signal);
        if (!isWaitOver) continue;
        if (day !== undefined) return addHoldReason(toDayResponse(day), await findHoldingDay(scheduleId));
        await requireSchedule(schedules, scheduleId);
        throw refuseMissingDay(scheduleId, date);
      }
    },
    async file(scheduleId, date, name) {
      const day = await days.get(scheduleId, date);
      if (day === undefined) {
        await requireSchedule(schedules, scheduleId);
        throw refuseMissingDay(scheduleId, date);
      }
      const dayFile = listFiles(day).find((file) => file.name === name);
      if (dayFile === undefined)
        throw new Refusal('FILE_NOT_FOUND', `The day ${date} of ${scheduleId} has no file ${name}.`, {
          schedule_id: scheduleId,
          date,
          file: name,
        });
      const { bytes, sha256, artifact } = dayFile;
      return { bytes, sha256, open: () => artifacts.stream({ name: artifact, bytes, sha256 }) };
    },
    async judgements(scheduleId, { limit }) {
      await requireSchedule(schedules, scheduleId);
      const last = await documents.lastNumber('judgement', scheduleId);
      const numbers = Array.from({ length: Math.min(limit, last) }, (_, k) => last - k);
      const documentLookups = await Promise.all(
        numbers.map((seq) => documents.get('judgement', formatNumberedId(scheduleId, seq))),
      );
      return documentLookups.flatMap((storedDocument) => {
        const read = parseStored(storedDocument, Judgement);
        return read === undefined ? [] : [read];
      });
    },
  };
}

/** Returns true if no step of a day is running or about to run. */
const isSettled = ({ state, next_attempt_at: next }: DayDocument, nowMs: number): boolean =>
  state !== 'running' && (next === null || Date.parse(next) > nowMs);
