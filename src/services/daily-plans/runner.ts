import { randomUUID } from 'node:crypto';
import { listDueDays } from '#domain/daily-plans/due-days.js';
import type { DayDocument, HeldIndex } from '#domain/daily-plans/day-document.js';
import { familyOrder, type FamilyOrder } from '#domain/daily-plans/family-order.js';
import { referencesOf } from '#domain/checks/validate-reference.js';
import { isUnavailable } from '#domain/refusals/refusal.js';
import { formatDay } from '#domain/time/days.js';
import { localDay } from '#domain/time/local-time.js';
import type { Clock } from '#jobs/clock.js';
import type { JobLog } from '#jobs/queue.js';
import type { DocumentStore } from '#store/port.js';
import { runUnrestricted } from '#store/reach/reach-context.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { FollowingCalendars } from '../stored/recorded-closures.js';
import { findIndex } from '../stored/stored-indices.js';
import { keepDay } from './day-keeper.js';
import { pruneFiles } from './prune-files.js';
import { missedDay, createDay } from './new-day.js';
import { performRound, type RoundEnd } from './perform-day.js';
import type { Performers } from './performers.js';
import type { ScheduleReader } from './schedules.js';
import { LEASE_MS, LeaseLost, type StoredDays } from './stored-days.js';

/**
 * Begins days at their time and performs their steps. Only one of the processes that serve the same documents performs
 * a day.
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

export interface DayRunnerDependencies {
  readonly documents: DocumentStore;
  readonly schedules: ScheduleReader;
  readonly days: StoredDays;
  readonly performers: Performers;
  /** Returns the reason why the key of a day's author may not perform it; undefined if it may. */
  readonly authorFault: (day: Pick<DayDocument, 'author' | 'key_id' | 'plan'>) => string | undefined;
  readonly calendars: Pick<FollowingCalendars, 'get' | 'follow'>;
  readonly clock: Clock;
  readonly log: JobLog;
}

/** Interval between two checks for due days. */
const TICK_MS = 5_000;
/** Interval after a failed check, because the store may be unavailable. */
const FAILED_TICK_MS = 15_000;
/** Maximum number of schedules whose days are performed concurrently. Each uses the threads of the service. */
const SCHEDULES_AT_ONCE = 4;

export function createDayRunner(dependencies: DayRunnerDependencies): DayRunner {
  const { documents, schedules, days, performers, authorFault, calendars, clock, log } = dependencies;
  const holder = randomUUID();
  const closing = new AbortController();
  /** Schedules whose days this process performs. */
  const performing = new Map<string, Promise<void>>();
  let looking: Promise<void> | undefined;
  let isWoken = false;
  let callOff: (() => void) | undefined;
  const timestamp = (): string => formatTimestamp(clock.now());

  /** Stores the days of a schedule that have become due. */
  async function beginDue(scheduleId: string): Promise<void> {
    const schedule = await schedules.authored(scheduleId);
    const calendar = schedule && calendars.get(schedule.plan.calendar);
    if (schedule === undefined || calendar === undefined) return;
    const { through } = await days.state(scheduleId);
    const nowMs = clock.now();
    const today = formatDay(localDay('UTC', nowMs));
    await pruneFiles(documents, { scheduleId, keepDays: schedule.plan.keep_files_days, today });
    if (!schedule.plan.enabled) return;
    const due = listDueDays(schedule.plan, calendar, { after: through, nowMs });
    if (due.length === 0) return;
    const firstKept = due.length - 1 - schedule.plan.catch_up;
    const begun = due.map((day, k) => (k < firstKept ? missedDay : createDay)(schedule, day, nowMs));
    await days.begin(scheduleId, begun, due.at(-1)!.date);
    log.info({ schedule_id: scheduleId, days: due.length, last: due.at(-1)!.date }, 'days of a schedule began');
  }

  /** Performs open days of a schedule, oldest first, while one of them is due. */
  async function performOpen(scheduleId: string): Promise<void> {
    const { open } = await days.state(scheduleId);
    let earlier: DayDocument[] = [];
    for (const [k, date] of open.entries()) {
      if (closing.signal.aborted) return;
      const carried = carriedFrom(earlier);
      if (carried === undefined) return; // An earlier day waits for its data: this one would, too.
      const day = await days.claim(scheduleId, date, holder);
      if (day !== undefined) await perform(day, carried);
      // While a day was performed, people may have made decisions about earlier days.
      const changed = day === undefined ? [date] : open.slice(0, k + 1);
      const read = await Promise.all(changed.map((other) => days.get(scheduleId, other)));
      earlier = [...(day === undefined ? earlier : []), ...read.flatMap((other) => other ?? [])];
    }
  }

  /** Returns the recorded closure of the exchange on a day. */
  function closureOn({ date, plan }: Pick<DayDocument, 'date' | 'plan'>): string | undefined {
    const { recorded } = calendars.get(plan.calendar) ?? {};
    const change = recorded?.changes.find((one) => one.date === date);
    if (change?.session !== 'closed') return undefined;
    // It contains the change.
    return `${plan.calendar} was closed: ${change.reason} (version ${recorded!.version} of its changes)`;
  }

  async function perform(day: DayDocument, carried: readonly HeldIndex[]): Promise<void> {
    const keeper = keepDay(day, { days, holder });
    const lost = new AbortController();
    const renewal = setInterval(() => void keeper.change((now) => now).catch(() => lost.abort()), LEASE_MS / 3);
    renewal.unref();
    const signal = AbortSignal.any([closing.signal, lost.signal]);
    try {
      await keeper.change((now) => ({
        ...now,
        started_at: now.started_at ?? timestamp(),
        rounds: now.rounds + 1,
        reason: null,
      }));
      await calendars.follow(); // The notification of a closure that another process recorded may still be pending.
      const closure = closureOn(day);
      if (closure !== undefined) return await keeper.end((now) => closedDay(now, closure, timestamp()));
      const fault = authorFault(day);
      const terms = { keeper, performers, carried, timestamp, monotonicMs: clock.monotonicMs, signal };
      const end: RoundEnd =
        fault === undefined
          ? await performRound({ ...terms, order: await orderOf(day.plan.indices) })
          : { state: 'blocked', reason: fault, held: keeper.day().held };
      await keeper.end((now) => ended(now, end, clock.now()));
      log.info(
        { schedule_id: day.schedule_id, date: day.date, state: end.state, reason: end.reason },
        'a round of a day ended',
      );
    } catch (thrown) {
      if (thrown instanceof LeaseLost) return;
      if (!signal.aborted)
        log.error({ schedule_id: day.schedule_id, date: day.date, err: thrown }, 'a round of a day failed');
      const reason = signal.aborted ? 'The service was stopped.' : failureText(thrown);
      const end: RoundEnd = { state: 'waiting', reason, held: keeper.day().held };
      await keeper.end((now) => ({
        ...ended(now, end, clock.now()),
        ...(signal.aborted && { next_attempt_at: timestamp() }),
      }));
    } finally {
      clearInterval(renewal);
    }
  }

  async function orderOf(ids: readonly string[]): Promise<FamilyOrder> {
    const parents = new Map<string, readonly string[]>();
    async function visit(id: string): Promise<void> {
      if (parents.has(id)) return;
      parents.set(id, []);
      const document = await findIndex(documents, id);
      if (document === undefined) return;
      const references = referencesOf(document);
      parents.set(id, references);
      for (const parent of references) await visit(parent);
    }
    for (const id of ids) await visit(id);
    return familyOrder(ids, (id) => parents.get(id) ?? []);
  }

  async function look(): Promise<void> {
    for (const id of await schedules.ids()) {
      await beginDue(id);
      if (performing.has(id) || performing.size >= SCHEDULES_AT_ONCE || closing.signal.aborted) continue;
      const work = performOpen(id)
        .catch((thrown: unknown) =>
          logFailure(thrown, { schedule_id: id }, 'the days of a schedule could not be performed'),
        )
        .finally(() => performing.delete(id));
      performing.set(id, work);
    }
  }

  function lookOnce(): Promise<void> {
    looking ??= runUnrestricted(look).finally(() => (looking = undefined));
    return looking;
  }

  /** Logs an outage of the store where it is detected; the next turn tries again. */
  function logFailure(thrown: unknown, context: object, message: string): void {
    if (!isUnavailable(thrown)) log.error({ ...context, err: thrown }, message);
  }

  function next(ms: number): void {
    callOff?.();
    if (!closing.signal.aborted) callOff = clock.after(ms, () => void turn());
  }

  async function turn(): Promise<void> {
    isWoken = false;
    let pauseMs = TICK_MS;
    try {
      await lookOnce();
    } catch (thrown) {
      logFailure(thrown, {}, 'schedules could not be read');
      pauseMs = FAILED_TICK_MS;
    }
    next(isWoken ? 0 : pauseMs);
  }

  return {
    start: () => next(0),
    wake() {
      isWoken = true;
      next(0);
    },
    async tick() {
      await lookOnce();
      while (performing.size > 0) await Promise.all(performing.values());
    },
    async close() {
      closing.abort();
      callOff?.();
      await looking?.catch(() => {});
      await Promise.all(performing.values());
    },
  };
}

const failureText = (thrown: unknown): string =>
  isUnavailable(thrown) ? thrown.message : 'A step failed unexpectedly; the log of the service says why.';

/**
 * Returns the indices that earlier open days hold back; undefined if one of these days has not progressed far enough.
 */
function carriedFrom(earlier: readonly DayDocument[]): readonly HeldIndex[] | undefined {
  const carried = new Map<string, HeldIndex>();
  for (const { state, held, plan, steps } of earlier) {
    const isDecided = state !== 'running' && steps.every((step) => step.state === 'done');
    if (!isDecided || (plan.on_failure === 'stop' && held.length > 0)) return undefined;
    for (const index of held) if (!carried.has(index.index_id)) carried.set(index.index_id, index);
  }
  return [...carried.values()];
}

/** Returns a day that ends because its exchange was closed. */
const closedDay = (day: DayDocument, reason: string, at: string): DayDocument => ({
  ...day,
  state: 'skipped',
  reason,
  held: [],
  finished_at: at,
  next_attempt_at: null,
});

/** Returns a day after a round. */
function ended(day: DayDocument, { state, reason, held }: RoundEnd, nowMs: number): DayDocument {
  const isLate = day.is_late || (day.deadline_at !== null && Date.parse(day.deadline_at) < nowMs);
  if (state === 'done')
    return {
      ...day,
      state,
      reason,
      held: [],
      is_late: isLate,
      finished_at: formatTimestamp(nowMs),
      next_attempt_at: null,
    };
  const next = formatTimestamp(nowMs + day.plan.retry_minutes * 60_000);
  return { ...day, state, reason, held: [...held], is_late: isLate, next_attempt_at: next };
}
