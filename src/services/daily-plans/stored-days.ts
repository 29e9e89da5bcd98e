import { DayDocument, ScheduleState } from '#domain/daily-plans/day-document.js';
import { parseValidDay } from '#domain/time/days.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { formatNumberedId } from '#store/document-id.js';
import type { DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { formatTimestamp } from '#store/timestamp.js';
import { renewDay } from './new-day.js';

/**
 * Lifetime of a lease in ms. If a process does not renew the lease in this time, another process may take over the day.
 */
export const LEASE_MS = 60_000;

/** Error for a process that no longer owns a day: another process has taken the day, or a person has skipped it. */
export class LeaseLost extends Error {}

/** Stored days. Only the process with the lease of a day writes that day. */
export interface StoredDays {
  get(scheduleId: string, date: string): Promise<DayDocument | undefined>;
  state(scheduleId: string): Promise<ScheduleState>;
  /** Stores days that do not exist yet. @param through last session for which a day exists after the call */
  begin(scheduleId: string, days: readonly DayDocument[], through?: string): Promise<void>;
  /** Takes the lease of a due day that no process runs. Returns undefined if there is no such day. */
  claim(scheduleId: string, date: string, holder: string): Promise<DayDocument | undefined>;
  /** Writes a day, and keeps or releases its lease. @throws LeaseLost */
  save(day: DayDocument, terms: { readonly holder: string; readonly isOver: boolean }): Promise<void>;
  /** Stores a change that a person made to a day. The write belongs to the transaction of that change. */
  changeIn(tx: DocumentTransaction, day: DayDocument): Promise<void>;
}

export interface StoredDaysDependencies {
  readonly documents: DocumentStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** True if several processes run days. If false, a lease of another process belongs to a process that has ended. */
  readonly isShared: boolean;
}

const NO_STATE: ScheduleState = { through: null, open: [] };

/** Final states. */
const ENDED_STATES: ReadonlySet<DayDocument['state']> = new Set(['done', 'skipped', 'missed']);
export const hasEnded = ({ state }: Pick<DayDocument, 'state'>): boolean => ENDED_STATES.has(state);

export const formatDayId = (scheduleId: string, date: string): string =>
  formatNumberedId(scheduleId, parseValidDay(date));

export async function readDay(
  reader: Pick<DocumentReader, 'get'>,
  scheduleId: string,
  date: string,
): Promise<DayDocument | undefined> {
  const storedDocument = await reader.get('schedule-day', formatDayId(scheduleId, date));
  if (storedDocument === undefined) return undefined;
  const day = parseStored(storedDocument, DayDocument);
  if (day !== undefined) return day;
  throw new Refusal('DOCUMENT_UNREADABLE', `The day ${date} of ${scheduleId} cannot be read.`);
}

export async function readState(reader: Pick<DocumentReader, 'get'>, scheduleId: string): Promise<ScheduleState> {
  const storedDocument = await reader.get('schedule-state', scheduleId);
  return parseStored(storedDocument, ScheduleState) ?? NO_STATE;
}

/**
 * Adds waivers and requests that people stored since the day was read. If a decision made the day due, the day runs
 * again after its round.
 */
function addDecisions(
  day: DayDocument,
  { waivers, renewal, next_attempt_at: nextAttemptAt }: DayDocument,
): DayDocument {
  return {
    ...day,
    waivers,
    ...(renewal && { renewal }),
    ...(nextAttemptAt !== null && !hasEnded(day) && { next_attempt_at: nextAttemptAt }),
  };
}

export function createStoredDays({ documents, now, isShared }: StoredDaysDependencies): StoredDays {
  async function putDay(tx: DocumentTransaction, day: DayDocument): Promise<void> {
    await tx.put('schedule-day', formatDayId(day.schedule_id, day.date), day);
    if (day.state !== 'running') tx.publish({ type: 'day-changed', schedule_id: day.schedule_id, date: day.date });
    const state = await readState(tx, day.schedule_id);
    const otherDates = state.open.filter((date) => date !== day.date);
    const openDates = hasEnded(day) ? otherDates : [...otherDates, day.date].toSorted();
    const mayHaveFiles = state.files_from !== undefined && day.date < state.files_from;
    if (openDates.join() === state.open.join() && !mayHaveFiles) return;
    await tx.put('schedule-state', day.schedule_id, {
      ...state,
      open: openDates,
      ...(mayHaveFiles && { files_from: day.date }),
    });
  }

  return {
    get: (scheduleId, date) => readDay(documents, scheduleId, date),
    state: (scheduleId) => readState(documents, scheduleId),
    changeIn: putDay,
    begin: (scheduleId, days, through) =>
      documents.transaction(async (tx) => {
        for (const day of days)
          if ((await tx.get('schedule-day', formatDayId(scheduleId, day.date))) === undefined) await putDay(tx, day);
        const state = await readState(tx, scheduleId);
        if (through !== undefined && (state.through === null || through > state.through))
          await tx.put('schedule-state', scheduleId, { ...state, through });
      }),
    claim: (scheduleId, date, holder) =>
      documents.transaction(async (tx) => {
        const day = await readDay(tx, scheduleId, date);
        if (day === undefined || hasEnded(day)) return undefined;
        const { lease, next_attempt_at: next } = day;
        const nowMs = now();
        if (next !== null && Date.parse(next) > nowMs) return undefined;
        if (lease !== null && lease.holder !== holder && isShared && Date.parse(lease.until) > nowMs) return undefined;
        const claimedDay: DayDocument = {
          ...day,
          state: 'running',
          next_attempt_at: null,
          lease: { holder, until: formatTimestamp(nowMs + LEASE_MS) },
        };
        await putDay(tx, claimedDay);
        return claimedDay;
      }),
    save: (day, { holder, isOver }) =>
      documents.transaction(
        async (tx) => {
          const storedDay = await readDay(tx, day.schedule_id, day.date);
          if (storedDay?.lease?.holder !== holder) throw new LeaseLost(`${day.schedule_id} ${day.date}`);
          const lease = isOver ? null : { holder, until: formatTimestamp(now() + LEASE_MS) };
          const { renewal } = storedDay;
          const mergedDay = { ...addDecisions(day, storedDay), lease };
          const after = isOver && renewal ? renewDay(mergedDay, renewal, formatTimestamp(now())) : mergedDay;
          // A running day is already in the state of its schedule; claiming the day added it.
          if (isOver || storedDay.state !== 'running') await putDay(tx, after);
          else await tx.put('schedule-day', formatDayId(day.schedule_id, day.date), after);
        },
        { reserve: true },
      ),
  };
}

export const refuseMissingDay = (scheduleId: string, date: string): Refusal =>
  new Refusal('DAY_NOT_FOUND', `The schedule ${scheduleId} has no day ${date}.`, { schedule_id: scheduleId, date });
