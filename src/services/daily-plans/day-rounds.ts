import { listReferences } from '#domain/checks/validate-reference.js';
import type { DayDocument, HeldIndex } from '#domain/daily-plans/day-document.js';
import { sortFamily, type FamilyOrder } from '#domain/daily-plans/family-order.js';
import { isUnavailable } from '#domain/refusals/refusal.js';
import type { Clock } from '#jobs/clock.js';
import type { JobLog } from '#jobs/queue.js';
import type { DocumentStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { FollowingCalendars } from '../stored/recorded-closures.js';
import { findIndex } from '../stored/stored-indices.js';
import { keepDay } from './day-keeper.js';
import { performRound, type RoundEnd } from './perform-day.js';
import type { Performers } from './performers.js';
import { LEASE_MS, LeaseLost, type StoredDays } from './stored-days.js';

export interface DayRoundsDependencies {
  readonly documents: DocumentStore;
  readonly days: StoredDays;
  readonly performers: Performers;
  /** Returns the reason why the key of a day's author may not perform the day; undefined if it may. */
  readonly authorFault: (day: Pick<DayDocument, 'author' | 'key_id' | 'plan'>) => string | undefined;
  readonly calendars: Pick<FollowingCalendars, 'get' | 'follow'>;
  readonly clock: Clock;
  readonly log: JobLog;
  /** Identity of this process in the leases of days. */
  readonly holder: string;
  /** Aborts when the process stops. */
  readonly closing: AbortSignal;
}

/** Returns a function that performs a round of a day. */
export function createDayRounds({
  documents,
  days,
  performers,
  authorFault,
  calendars,
  clock,
  log,
  holder,
  closing,
}: DayRoundsDependencies): (day: DayDocument, carriedIndices: readonly HeldIndex[]) => Promise<void> {
  const getTimestamp = (): string => formatTimestamp(clock.now());

  /** Returns the recorded closure of the exchange on a day. */
  function findClosureOn({ date, plan }: Pick<DayDocument, 'date' | 'plan'>): string | undefined {
    const { recorded } = calendars.get(plan.calendar) ?? {};
    const change = recorded?.changes.find((closureChange) => closureChange.date === date);
    if (change?.session !== 'closed') return undefined;
    // the version of the calendar contains the change
    return `${plan.calendar} was closed: ${change.reason} (version ${recorded!.version} of its changes)`;
  }

  /** Performs a round of a day that this process has claimed. */
  async function performDay(day: DayDocument, carriedIndices: readonly HeldIndex[]): Promise<void> {
    const keeper = keepDay(day, { days, holder });
    const lostLease = new AbortController();
    const renewal = setInterval(() => void keeper.change((now) => now).catch(() => lostLease.abort()), LEASE_MS / 3);
    renewal.unref();
    const signal = AbortSignal.any([closing, lostLease.signal]);
    try {
      await keeper.change((now) => ({
        ...now,
        started_at: now.started_at ?? getTimestamp(),
        rounds: now.rounds + 1,
        reason: null,
      }));
      await calendars.follow(); // The notification of a closure that another process recorded may still be pending.
      const closure = findClosureOn(day);
      if (closure !== undefined) return await keeper.end((now) => createClosedDay(now, closure, getTimestamp()));
      const fault = authorFault(day);
      const terms = {
        keeper,
        performers,
        carriedIndices,
        timestamp: getTimestamp,
        monotonicMs: clock.monotonicMs,
        signal,
      };
      const end: RoundEnd =
        fault === undefined
          ? await performRound({ ...terms, order: await readOrder(day.plan.indices) })
          : { state: 'blocked', reason: fault, held: keeper.day().held };
      await keeper.end((now) => endRound(now, end, clock.now()));
      log.info(
        { schedule_id: day.schedule_id, date: day.date, state: end.state, reason: end.reason },
        'a round of a day ended',
      );
    } catch (failure) {
      if (failure instanceof LeaseLost) return;
      if (!signal.aborted)
        log.error({ schedule_id: day.schedule_id, date: day.date, err: failure }, 'a round of a day failed');
      const reason = signal.aborted ? 'The service was stopped.' : describeFailure(failure);
      const end: RoundEnd = { state: 'waiting', reason, held: keeper.day().held };
      await keeper.end((now) => ({
        ...endRound(now, end, clock.now()),
        ...(signal.aborted && { next_attempt_at: getTimestamp() }),
      }));
    } finally {
      clearInterval(renewal);
    }
  }

  async function readOrder(ids: readonly string[]): Promise<FamilyOrder> {
    const parents = new Map<string, readonly string[]>();
    async function visitIndex(id: string): Promise<void> {
      if (parents.has(id)) return;
      parents.set(id, []);
      const document = await findIndex(documents, id);
      if (document === undefined) return;
      const references = listReferences(document);
      parents.set(id, references);
      for (const parent of references) await visitIndex(parent);
    }
    for (const id of ids) await visitIndex(id);
    return sortFamily(ids, (id) => parents.get(id) ?? []);
  }

  return performDay;
}

const describeFailure = (failure: unknown): string =>
  isUnavailable(failure) ? failure.message : 'A step failed unexpectedly. The log of the service contains the cause.';

/** Returns a day with the state of a closed exchange: no step runs. */
const createClosedDay = (day: DayDocument, reason: string, timestamp: string): DayDocument => ({
  ...day,
  state: 'skipped',
  reason,
  held: [],
  finished_at: timestamp,
  next_attempt_at: null,
});

/** Returns a day after a round. */
function endRound(day: DayDocument, { state, reason, held }: RoundEnd, nowMs: number): DayDocument {
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
  const nextTimestamp = formatTimestamp(nowMs + day.plan.retry_minutes * 60_000);
  return { ...day, state, reason, held: [...held], is_late: isLate, next_attempt_at: nextTimestamp };
}
