import { formatCount } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { parseValidDay } from '#domain/base/time.js';
import {
  DayDocument,
  type DueDay,
  LOG_LINES_MAX,
  type Renewal,
  type ScheduleDay,
  type ScheduleDaySummary,
  type ScheduleDocument,
  ScheduleState,
  type Step,
  type StoredItem,
  type StoredStep,
} from '#domain/outputs/daily-plans.js';
import {
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  formatNumberedId,
  formatTimestamp,
  parseStored,
} from '#store/port.js';
import type { DayFile } from '../delivery/deliveries.js';
import type { Context } from '../shared/context.js';

/** Schedule with its responsible author. */
export interface AuthoredPlan {
  readonly id: string;
  readonly plan: ScheduleDocument;
  readonly version: number | null;
  readonly author: string;
  readonly keyId: string | null;
}

export const createStoredStep = ({ type }: Step): StoredStep => ({
  type,
  state: 'pending',
  attempts: 0,
  started_at: null,
  finished_at: null,
  duration_ms: 0,
  message: '',
  code: null,
  log: [],
  items: [],
});

/** Returns a day before its first round. */
export function createDay(schedule: AuthoredPlan, { date, dueMs, deadlineMs }: DueDay, atMs: number): DayDocument {
  const { id, plan, version, author, keyId } = schedule;
  return {
    schedule_id: id,
    date,
    state: 'waiting',
    reason: null,
    due_at: formatTimestamp(dueMs),
    deadline_at: deadlineMs === null ? null : formatTimestamp(deadlineMs),
    is_late: false,
    started_at: null,
    finished_at: null,
    next_attempt_at: formatTimestamp(atMs),
    rounds: 0,
    version,
    author,
    key_id: keyId,
    waivers: [],
    held: [],
    plan,
    lease: null,
    steps: plan.steps.map(createStoredStep),
  };
}

/** Returns a day that is too old to be caught up. */
export function createMissedDay(schedule: AuthoredPlan, dueDay: DueDay, atMs: number): DayDocument {
  const reason = `The service could start the day only more than ${formatCount(schedule.plan.catch_up, 'session')} (catch_up) after it was due.`;
  return {
    ...createDay(schedule, dueDay, atMs),
    state: 'missed',
    reason,
    finished_at: formatTimestamp(atMs),
    next_attempt_at: null,
  };
}

/**
 * Returns the steps of a new plan. If the old plan has the same step at the same position, the step keeps its result.
 */
const copyCompletedSteps = (plan: ScheduleDocument, { plan: previousPlan, steps }: DayDocument): StoredStep[] =>
  plan.steps.map((step, k) =>
    JSON.stringify(step) === JSON.stringify(previousPlan.steps[k]) && steps[k] !== undefined
      ? { ...steps[k], state: 'pending' }
      : createStoredStep(step),
  );

/** Codes of results that are removed when a person runs a day again. A rejected change is then requested again. */
const RERUN_REASON: ReadonlySet<string | null> = new Set(['APPROVAL_REQUIRED', 'APPROVAL_CLOSED']);

/**
 * Returns a day that runs again at a given time. Changed steps and the steps in `again` start without results. Other
 * steps keep their results, except those about approvals.
 */
export function renewDay(storedDay: DayDocument, { again, ...schedule }: Renewal, timestamp: string): DayDocument {
  const { renewal: _renewal, ...day } = storedDay;
  const steps = copyCompletedSteps(schedule.plan, day).map((step, k) =>
    again.includes(step.type)
      ? createStoredStep(schedule.plan.steps[k]!)
      : { ...step, items: step.items.filter(({ code }) => !RERUN_REASON.has(code)) },
  );
  return { ...day, ...schedule, steps, state: 'waiting', reason: null, finished_at: null, next_attempt_at: timestamp };
}

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

const NO_STATE: ScheduleState = { through: null, open: [] };

const ENDED_STATES: ReadonlySet<DayDocument['state']> = new Set(['done', 'skipped', 'missed']);
export const hasEnded = ({ state }: Pick<DayDocument, 'state'>): boolean => ENDED_STATES.has(state);

export const formatDayId = (scheduleId: string, date: string): string =>
  formatNumberedId(scheduleId, parseValidDay(date));

export async function readPlanDay(
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

/**
 * @param isShared true if several processes run days; if false, a lease of another process belongs to a process that has
 * ended
 */
export function createStoredDays({ documents, now }: Context, isShared: boolean): StoredDays {
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
    get: (scheduleId, date) => readPlanDay(documents, scheduleId, date),
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
        const day = await readPlanDay(tx, scheduleId, date);
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
          const storedDay = await readPlanDay(tx, day.schedule_id, day.date);
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

export interface DayChanges {
  /** Starts to watch a day. The caller sees every change after this call. */
  watch(scheduleId: string, date: string): DayWatch;
  close(): void;
}

export interface DayWatch {
  /** Resolves at the next change, or after `waitMs`. */
  next(waitMs: number, signal: AbortSignal): Promise<void>;
}

/**
 * Maximum wait in ms for a notification of a change. After this time the day is read again, because a database outage
 * can lose a notification.
 */
const NOTIFICATION_MS = 5_000;

export function followDayChanges(documents: Pick<DocumentStore, 'subscribe'>): DayChanges {
  const watchersByDay = new Map<string, Set<() => void>>();
  const unsubscribe = documents.subscribe('day-changed', ({ schedule_id: scheduleId, date }) => {
    for (const notify of watchersByDay.get(formatDayId(scheduleId, date)) ?? []) notify();
  });
  return {
    close: unsubscribe,
    watch(scheduleId, date) {
      const key = formatDayId(scheduleId, date);
      let hasChanged = false;
      let wake = (): void => {};
      const notify = (): void => {
        hasChanged = true;
        wake();
      };
      const watchers = watchersByDay.get(key) ?? new Set();
      watchersByDay.set(key, watchers.add(notify));
      return {
        next: (waitMs, signal) =>
          new Promise((resolve) => {
            const timer = setTimeout(stopWaiting, Math.max(0, Math.min(waitMs, NOTIFICATION_MS)));
            function stopWaiting(): void {
              clearTimeout(timer);
              signal.removeEventListener('abort', stopWaiting);
              watchers.delete(notify);
              if (watchers.size === 0 && watchersByDay.get(key) === watchers) watchersByDay.delete(key);
              resolve();
            }
            wake = stopWaiting;
            signal.addEventListener('abort', stopWaiting);
            if (hasChanged || signal.aborted) stopWaiting();
          }),
      };
    },
  };
}

/** Access to a day while it runs. Changes are made in memory and written to disk as often as the disk permits. */
export interface DayKeeper {
  day(): DayDocument;
  step(position: number): StoredStep;
  /** Resolves once the change is on disk. @throws LeaseLost */
  change(change: (day: DayDocument) => DayDocument): Promise<void>;
  changeStep(position: number, change: Partial<StoredStep>): Promise<void>;
  putItem(position: number, item: StoredItem): Promise<void>;
  dropItems(position: number, isDropped: (item: StoredItem) => boolean): Promise<void>;
  log(position: number, time: string, message: string): Promise<void>;
  /**
   * Writes the end of a round and releases the lease in the same write. A client that reads the end can therefore
   * change the day at once.
   * @throws LeaseLost
   */
  end(change: (day: DayDocument) => DayDocument): Promise<void>;
}

export function keepDay(
  initialDay: DayDocument,
  { days, holder }: { readonly days: Pick<StoredDays, 'save'>; readonly holder: string },
): DayKeeper {
  let day = initialDay;
  let hasChanges = false;
  let pendingWrite: Promise<void> | undefined;

  async function write(): Promise<void> {
    try {
      while (hasChanges) {
        hasChanges = false;
        await days.save(day, { holder, isOver: false });
      }
    } finally {
      pendingWrite = undefined;
    }
  }

  function change(next: (day: DayDocument) => DayDocument): Promise<void> {
    day = next(day);
    hasChanges = true;
    pendingWrite ??= write();
    return pendingWrite;
  }

  const changeStepAt = (position: number, next: (step: StoredStep) => StoredStep): Promise<void> =>
    change((day) => ({ ...day, steps: day.steps.with(position, next(day.steps[position]!)) }));

  return {
    day: () => day,
    step: (position) => day.steps[position]!,
    change,
    changeStep: (position, values) => changeStepAt(position, (step) => ({ ...step, ...values })),
    putItem: (position, item) =>
      changeStepAt(position, (step) => {
        const itemPosition = step.items.findIndex(({ key }) => key === item.key);
        return { ...step, items: itemPosition < 0 ? [...step.items, item] : step.items.with(itemPosition, item) };
      }),
    dropItems: (position, isDropped) =>
      day.steps[position]!.items.some(isDropped)
        ? changeStepAt(position, (step) => ({ ...step, items: step.items.filter((item) => !isDropped(item)) }))
        : Promise.resolve(),
    log: (position, timestamp, message) =>
      changeStepAt(position, (step) => ({
        ...step,
        log: [...step.log, { at: timestamp, message }].slice(-LOG_LINES_MAX),
      })),
    async end(next) {
      await pendingWrite;
      day = next(day);
      await days.save(day, { holder, isOver: true });
    },
  };
}

/** Returns the files that the steps of a day wrote and that have not been removed. */
export const listFiles = ({ steps }: Pick<DayDocument, 'steps'>): readonly DayFile[] =>
  steps.flatMap(({ type, items }) =>
    items.flatMap(({ file, artifact, index_id: indexId, detail }) => {
      if (file === null || artifact === null || indexId === null) return [];
      const table = type === 'render' ? 'report' : String(detail?.['table'] ?? '');
      return [{ ...file, indexId, table, artifact }];
    }),
  );

/** Converts a stored day to the response for clients. Adds the number of indices that each step blocks. */
export function toDayResponse({
  plan,
  lease: _lease,
  key_id: _key,
  renewal: _renewal,
  steps,
  ...day
}: DayDocument): ScheduleDay {
  const hideArtifact = ({ artifact: _artifact, ...item }: StoredItem) => item;
  const indices = plan.indices.length;
  return {
    ...day,
    steps: steps.map((step) => {
      const heldCount = day.held.filter((index) => index.step === step.type && index.since === day.date).length;
      const { message } = step;
      return {
        ...step,
        message:
          step.state === 'done' && heldCount > 0
            ? `${message} ${heldCount} of ${formatCount(indices, 'index', 'indices')} held back.`
            : message,
        held: heldCount,
        indices,
        items: step.items.map(hideArtifact),
      };
    }),
  };
}

export function createSummary(day: DayDocument): ScheduleDaySummary {
  const { steps, ...rest } = toDayResponse(day);
  return { ...rest, step: steps.find(({ state }) => state !== 'done')?.type ?? null };
}

/** Returns true if later days must wait until this day makes progress. */
export const holdsLaterDays = ({ state, held, plan, steps }: DayDocument): boolean =>
  state === 'running' || steps.some((step) => step.state !== 'done') || (plan.on_failure === 'stop' && held.length > 0);

/** Adds a reason to a day that waits for an earlier day. Such a day has not started, so it has no other reason. */
export const addHoldReason = <D extends Pick<ScheduleDay, 'state' | 'date' | 'reason'>>(
  day: D,
  unfinishedDate: string | undefined,
): D =>
  day.state === 'waiting' && day.reason === null && unfinishedDate !== undefined && unfinishedDate < day.date
    ? { ...day, reason: `Days run in order, and ${unfinishedDate} has not finished.` }
    : day;
