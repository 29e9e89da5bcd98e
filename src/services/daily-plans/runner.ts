import { randomUUID } from 'node:crypto';
import { listDueDays } from '#domain/daily-plans/due-days.js';
import type { DayDocument, HeldIndex } from '#domain/daily-plans/day-document.js';
import { isUnavailable } from '#domain/refusals/refusal.js';
import { formatDay } from '#domain/time/days.js';
import { toLocalDay } from '#domain/time/local-time.js';
import { runUnrestricted } from '#store/reach/reach-context.js';
import { createDayRounds, type DayRoundsDependencies } from './day-rounds.js';
import { pruneFiles } from './prune-files.js';
import { createMissedDay, createDay } from './new-day.js';
import type { ScheduleReader } from './schedules.js';
import { holdsLaterDays } from './shown-day.js';

/**
 * Runner that starts days at their due time and runs their steps. Several processes can serve the same documents; only
 * one of them runs a given day.
 */
export interface DayRunner {
  start(): void;
  /** Checks immediately whether something is due. */
  wake(): void;
  /** Performs all due days now. For tests, and for urgent work. */
  tick(): Promise<void>;
  /** Aborts running rounds; the next process resumes them. */
  close(): Promise<void>;
}

export interface DayRunnerDependencies extends Omit<DayRoundsDependencies, 'holder' | 'closing'> {
  readonly schedules: ScheduleReader;
}

/** Interval between two checks for due days. */
const TICK_MS = 5_000;
/** Interval after a failed check, because the store may be unavailable. */
const FAILED_TICK_MS = 15_000;
/** Maximum number of schedules that run days at the same time. Each schedule uses the worker threads of the service. */
const SCHEDULE_CONCURRENCY = 4;

export function createDayRunner(dependencies: DayRunnerDependencies): DayRunner {
  const { documents, schedules, days, calendars, clock, log } = dependencies;
  const holder = randomUUID();
  const closing = new AbortController();
  const performDay = createDayRounds({ ...dependencies, holder, closing: closing.signal });
  /** Schedules whose days this process performs. */
  const runningSchedules = new Map<string, Promise<void>>();
  let scheduleCheck: Promise<void> | undefined;
  let hasWakeUp = false;
  let cancelTimer: (() => void) | undefined;

  /** Stores the days of a schedule that have become due. */
  async function storeDueDays(scheduleId: string): Promise<void> {
    const schedule = await schedules.authored(scheduleId);
    const calendar = schedule && calendars.get(schedule.plan.calendar);
    if (schedule === undefined || calendar === undefined) return;
    const { through } = await days.state(scheduleId);
    const nowMs = clock.now();
    const today = formatDay(toLocalDay('UTC', nowMs));
    await pruneFiles(documents, { scheduleId, keepDays: schedule.plan.keep_files_days, today });
    if (!schedule.plan.enabled) return;
    const dueDays = listDueDays(schedule.plan, calendar, { after: through, nowMs });
    if (dueDays.length === 0) return;
    const firstKept = dueDays.length - 1 - schedule.plan.catch_up;
    const newDays = dueDays.map((day, k) => (k < firstKept ? createMissedDay : createDay)(schedule, day, nowMs));
    await days.begin(scheduleId, newDays, dueDays.at(-1)!.date);
    log.info({ schedule_id: scheduleId, days: dueDays.length, last: dueDays.at(-1)!.date }, 'days of a schedule began');
  }

  /** Runs the open days of a schedule that are due, oldest first. Stops after a day for which later days must wait. */
  async function performOpenDays(scheduleId: string): Promise<void> {
    const { open } = await days.state(scheduleId);
    let earlierDays: DayDocument[] = [];
    for (const [k, date] of open.entries()) {
      if (closing.signal.aborted) return;
      const carriedIndices = listHeldIndices(earlierDays);
      if (carriedIndices === undefined) return; // an earlier day waits for data, so this day would wait too
      const day = await days.claim(scheduleId, date, holder);
      if (day !== undefined) await performDay(day, carriedIndices);
      // People may have decided about earlier days while this day was running.
      const changedDates = day === undefined ? [date] : open.slice(0, k + 1);
      const readDays = await Promise.all(changedDates.map((other) => days.get(scheduleId, other)));
      earlierDays = [...(day === undefined ? earlierDays : []), ...readDays.flatMap((other) => other ?? [])];
    }
  }

  async function checkSchedules(): Promise<void> {
    for (const id of await schedules.ids()) {
      await storeDueDays(id);
      if (runningSchedules.has(id) || runningSchedules.size >= SCHEDULE_CONCURRENCY || closing.signal.aborted) continue;
      const work = performOpenDays(id)
        .catch((failure: unknown) =>
          logFailure(failure, { schedule_id: id }, 'the days of a schedule could not be performed'),
        )
        .finally(() => runningSchedules.delete(id));
      runningSchedules.set(id, work);
    }
  }

  function checkSchedulesOnce(): Promise<void> {
    scheduleCheck ??= runUnrestricted(checkSchedules).finally(() => (scheduleCheck = undefined));
    return scheduleCheck;
  }

  /** Logs a failure, unless the store is unavailable. The next turn tries again. */
  function logFailure(failure: unknown, context: object, message: string): void {
    if (!isUnavailable(failure)) log.error({ ...context, err: failure }, message);
  }

  function scheduleNextTurn(ms: number): void {
    cancelTimer?.();
    if (!closing.signal.aborted) cancelTimer = clock.after(ms, () => void runTurn());
  }

  async function runTurn(): Promise<void> {
    hasWakeUp = false;
    let pauseMs = TICK_MS;
    try {
      await checkSchedulesOnce();
    } catch (failure) {
      logFailure(failure, {}, 'schedules could not be read');
      pauseMs = FAILED_TICK_MS;
    }
    scheduleNextTurn(hasWakeUp ? 0 : pauseMs);
  }

  return {
    start: () => scheduleNextTurn(0),
    wake() {
      hasWakeUp = true;
      scheduleNextTurn(0);
    },
    async tick() {
      await checkSchedulesOnce();
      while (runningSchedules.size > 0) await Promise.all(runningSchedules.values());
    },
    async close() {
      closing.abort();
      cancelTimer?.();
      await scheduleCheck?.catch(() => {});
      await Promise.all(runningSchedules.values());
    },
  };
}

/**
 * Returns the indices that earlier open days block. Returns undefined if later days must wait until one of these days
 * makes progress.
 */
function listHeldIndices(earlierDays: readonly DayDocument[]): readonly HeldIndex[] | undefined {
  const heldById = new Map<string, HeldIndex>();
  for (const day of earlierDays) {
    if (holdsLaterDays(day)) return undefined;
    for (const index of day.held) if (!heldById.has(index.index_id)) heldById.set(index.index_id, index);
  }
  return [...heldById.values()];
}
