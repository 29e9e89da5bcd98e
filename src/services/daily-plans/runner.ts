import { randomUUID } from 'node:crypto';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import { formatDay, parseValidDay, toLocalDay } from '#domain/base/time.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { listReferences } from '#domain/definition/references.js';
import type { Authorship } from '#domain/definition/versions.js';
import {
  type DayDocument,
  type FamilyOrder,
  findStepKind,
  type HeldIndex,
  listDueDays,
  type ScheduleState,
  sortFamily,
  type Step,
  type StepType,
  type StoredItem,
  type StoredStep,
} from '#domain/outputs/daily-plans.js';
import type { Clock } from '#jobs/port/clock.js';
import type { JobLog, JobOrigin } from '#jobs/port/queue.js';
import { type DocumentStore, formatTimestamp } from '#store/port.js';
import { runUnrestricted } from '#store/reach.js';
import { findIndex } from '../indices/documents.js';
import type { AccessKeys } from '../keys/keys.js';
import type { Context } from '../shared/context.js';
import { createChecksPerformer, createComparePerformer, describeReason } from './checks.js';
import type { ScheduledDays } from './schedules.js';
import {
  createDeliverPerformer,
  createExportPerformer,
  createPublishPerformer,
  createRefreshPerformer,
  createRenderPerformer,
  createRunPerformer,
  type ItemResult,
  type Performer,
  type StepContext,
  type StepOutcome,
  type StepServices,
} from './steps.js';
import {
  createDay,
  createMissedDay,
  type DayKeeper,
  formatDayId,
  hasEnded,
  holdsLaterDays,
  keepDay,
  LEASE_MS,
  LeaseLost,
  readPlanDay,
  readState,
  type StoredDays,
} from './stored-days.js';

/**
 * Format of key ids. An author with another id is the subject of a token; the service cannot check the rights of that
 * subject.
 */
const KEY_ID = /^[A-Za-z0-9]{12}$/;

/**
 * Returns the reason why the author's key can no longer run a day: the key was revoked, it has expired, or it lacks a
 * scope that a step needs. If a newer key has the same name, the newer key is checked instead.
 */
export function findAuthorFault(
  keys: Pick<AccessKeys, 'findScopes'>,
  { author, key_id: id, plan }: Pick<DayDocument, 'author' | 'key_id' | 'plan'>,
): string | undefined {
  if (id === null || !KEY_ID.test(id)) return undefined;
  const remedy = 'Store the schedule again with a valid key, then run the day again.';
  const scopes = keys.findScopes(id, author);
  if (scopes === undefined)
    return `The key ${author} (${id}) that stored the schedule was revoked or has expired. ${remedy}`;
  if (scopes.has('admin')) return undefined;
  const deniedStep = plan.steps.find(({ type }) => !scopes.has(findStepKind(type).scope));
  if (deniedStep === undefined) return undefined;
  return `The key ${author} (${id}) that stored the schedule lacks the scope ${findStepKind(deniedStep.type).scope} of the step ${deniedStep.type}. ${remedy}`;
}

export type Performers = { readonly [T in StepType]: Performer<T> };

export const createPerformers = (services: StepServices): Performers => ({
  refresh: createRefreshPerformer(services),
  checks: createChecksPerformer(services),
  run: createRunPerformer(services),
  compare: createComparePerformer(services),
  publish: createPublishPerformer(services),
  export: createExportPerformer(services),
  render: createRenderPerformer(services),
  deliver: createDeliverPerformer(services),
});

export interface PerformTerms {
  readonly keeper: DayKeeper;
  readonly performers: Performers;
  readonly order: FamilyOrder;
  /** Indices that earlier days hold back. */
  readonly carriedIndices: readonly HeldIndex[];
  /** Time of records, ISO-8601. */
  readonly timestamp: () => string;
  readonly monotonicMs: () => number;
  readonly signal: AbortSignal;
}

interface RoundEnd {
  readonly state: 'done' | 'waiting' | 'blocked';
  readonly reason: string | null;
  readonly held: readonly HeldIndex[];
}

/** Maximum number of reasons that a sentence names. */
const NAMED_INDICES_MAX = 3;

/** Runs one round of a day: every step in order, for all indices that are not blocked. */
async function performRound(terms: PerformTerms): Promise<RoundEnd> {
  const { keeper, carriedIndices, order } = terms;
  const { plan, date } = keeper.day();
  for (const [position, spec] of plan.steps.entries()) {
    const step = keeper.step(position);
    if (step.state === 'done' && !findStepKind(spec.type).repeats) continue;
    const outcome = await performStep(position, spec, terms);
    const heldIndices = listBlockedIndices(keeper.day().steps.slice(0, position + 1), { carriedIndices, order, date });
    if (outcome.state === 'failed')
      return { state: 'blocked', reason: `${spec.type}: ${outcome.message}`, held: heldIndices };
    if (outcome.state === 'waiting') return { state: 'waiting', reason: outcome.message, held: heldIndices };
    if (plan.on_failure === 'stop' && heldIndices.length > 0) return determineRoundEnd(heldIndices, keeper.day());
  }
  return determineRoundEnd(listBlockedIndices(keeper.day().steps, { carriedIndices, order, date }), keeper.day());
}

async function performStep(position: number, spec: Step, terms: PerformTerms): Promise<StepOutcome> {
  const { keeper, performers, timestamp, monotonicMs } = terms;
  const previousStep = keeper.step(position);
  const beginMs = monotonicMs();
  await keeper.changeStep(position, {
    state: 'running',
    attempts: previousStep.attempts + 1,
    started_at: previousStep.started_at ?? timestamp(),
    code: null,
  });
  // `performers[spec.type]` accepts this spec, but TypeScript cannot infer this from the union.
  const performSpec = performers[spec.type] as Performer<never>;
  const outcome = await performSpec(createContext(position, spec, terms) as never).catch((failure: unknown) =>
    createRefusedStep(failure, terms.signal),
  );
  await keeper.changeStep(position, {
    state: outcome.state,
    finished_at: timestamp(),
    duration_ms: previousStep.duration_ms + Math.max(0, Math.round(monotonicMs() - beginMs)),
    message: outcome.message,
    code: outcome.code ?? null,
  });
  await keeper.log(position, timestamp(), outcome.message);
  return outcome;
}

/**
 * Returns the result of a step that was refused as a whole, for example because no store is served.
 * @throws the failure itself if it is not a refusal, the store is unavailable, or the round was aborted
 */
function createRefusedStep(failure: unknown, signal: AbortSignal): StepOutcome {
  const isOutage: boolean = isStoreUnavailable(failure);
  if (isOutage || signal.aborted || !(failure instanceof Refusal)) throw failure;
  return { state: 'failed', code: failure.code, message: failure.message };
}

function createContext(position: number, spec: Step, terms: PerformTerms): StepContext<Step> {
  const { keeper, order, carriedIndices, timestamp, signal } = terms;
  const heldBefore = new Set(carriedIndices.map(({ index_id }) => index_id));
  /** Returns true if an earlier day or an earlier step blocks an index. */
  const isBlocked = (id: string): boolean =>
    heldBefore.has(id) ||
    keeper
      .day()
      .steps.slice(0, position)
      .some(({ items }) => items.some((item) => item.index_id === id && item.state !== 'done'));
  /** Returns true if this step stopped at an index. The indices that depend on it are then blocked as well. */
  const isStopped = (id: string): boolean =>
    keeper
      .step(position)
      .items.some(({ index_id, state }) => index_id === id && (state === 'blocked' || state === 'failed'));
  return {
    spec,
    day: keeper.day,
    waves: order.waves,
    isOpen: (id) =>
      !isBlocked(id) && ![...order.ancestors.get(id)!].some((ancestor) => isBlocked(ancestor) || isStopped(ancestor)),
    getAncestors: (id) => order.ancestors.get(id)!,
    item: (key) => keeper.step(position).items.find((item) => item.key === key),
    put: (key, indexId, result) => keeper.putItem(position, createItem(key, indexId, result, timestamp())),
    clear: () => keeper.dropItems(position, ({ index_id: id }) => id !== null),
    drop: (key) => keeper.dropItems(position, (item) => item.key === key),
    log: (message) => keeper.log(position, timestamp(), message),
    timestamp,
    by: createAuthorship(keeper.day()),
    origin: createOrigin(keeper.day()),
    signal,
  };
}

function createItem(key: string, indexId: string | null, result: ItemResult, timestamp: string): StoredItem {
  const { state, message, code = null, job_id = null, file = null, detail = null, artifact = null } = result;
  return { key, index_id: indexId, state, code, message, at: timestamp, job_id, file, detail, artifact };
}

/** Returns the blocked indices, each with the reason of its first step, and the indices that depend on them. */
function listBlockedIndices(
  steps: readonly StoredStep[],
  {
    carriedIndices,
    order,
    date,
  }: { readonly carriedIndices: readonly HeldIndex[]; readonly order: FamilyOrder; readonly date: string },
): readonly HeldIndex[] {
  const heldById = new Map(carriedIndices.map((index) => [index.index_id, index]));
  for (const { type, items } of steps) {
    const openItems = items.filter(({ state }) => state !== 'done');
    for (const { index_id: id, code } of openItems) {
      if (id === null || heldById.has(id)) continue;
      const reason = describeReason(openItems.filter((item) => item.index_id === id));
      heldById.set(id, { index_id: id, since: date, step: type, code, reason });
    }
  }
  const initialHolds = [...heldById.values()];
  for (const [id, ancestors] of order.ancestors) {
    const parent = initialHolds.find(({ index_id }) => ancestors.has(index_id));
    if (parent === undefined || heldById.has(id)) continue;
    heldById.set(id, {
      ...parent,
      index_id: id,
      reason: `The parent ${parent.index_id} is held back: ${parent.reason}`,
    });
  }
  return [...heldById.values()].toSorted((a, b) => (a.index_id < b.index_id ? -1 : 1));
}

/**
 * Returns true for an item that waits: for data, a target or an approval, or for a database or object store that is
 * unavailable.
 */
const isWaitingItem = ({ state, code }: Pick<StoredItem, 'state' | 'code'>): boolean =>
  state === 'waiting' || code === 'STORE_UNAVAILABLE';

/** Returns the state in which a round ends. An item without an index, such as a delivery, also blocks the day. */
function determineRoundEnd(heldIndices: readonly HeldIndex[], { steps }: DayDocument): RoundEnd {
  const items = steps.flatMap((step) => step.items.filter(({ state }) => state !== 'done'));
  if (heldIndices.length === 0 && items.length === 0) return { state: 'done', reason: null, held: heldIndices };
  const isWaiting = items.every(isWaitingItem) && items.length > 0;
  const reasons = [
    ...new Set([
      ...heldIndices.map(({ index_id, reason }) => `${index_id}: ${reason}`),
      ...items.filter(({ index_id }) => index_id === null).map(({ key, message }) => `${key}: ${message}`),
    ]),
  ];
  const omissionNote = reasons.length > NAMED_INDICES_MAX ? ` And ${reasons.length - NAMED_INDICES_MAX} more.` : '';
  return {
    state: isWaiting ? 'waiting' : 'blocked',
    reason: reasons.slice(0, NAMED_INDICES_MAX).join(' ') + omissionNote,
    held: heldIndices,
  };
}

function createAuthorship({ author, key_id: keyId, schedule_id: id, date }: DayDocument): Authorship {
  return { author, keyId, note: `Schedule ${id}, ${date}`, requestId: '' };
}

function createOrigin({ author, key_id: owner, schedule_id: id, date }: DayDocument): JobOrigin {
  return { owner, author, note: `Schedule ${id}, ${date}`, requestId: '', traceId: null, callback: null };
}

export interface DayRunnerTerms {
  readonly performers: Performers;
  /** Returns the reason why the key of a day's author may not perform the day; undefined if it may. */
  readonly authorFault: (day: Pick<DayDocument, 'author' | 'key_id' | 'plan'>) => string | undefined;
  readonly clock: Clock;
  readonly log: JobLog;
}

/**
 * @param holder identity of this process in the leases of days
 * @param closing aborts when the process stops
 */
function createDayRounds(
  { documents, calendars }: Context,
  days: StoredDays,
  { performers, authorFault, clock, log }: DayRunnerTerms,
  { holder, closing }: { readonly holder: string; readonly closing: AbortSignal },
): (day: DayDocument, carriedIndices: readonly HeldIndex[]) => Promise<void> {
  const getTimestamp = (): string => formatTimestamp(clock.now());

  function findClosureOn({ date, plan }: Pick<DayDocument, 'date' | 'plan'>): string | undefined {
    const { recorded } = calendars.get(plan.calendar) ?? {};
    const change = recorded?.changes.find((closureChange) => closureChange.date === date);
    if (change?.session !== 'closed') return undefined;
    // the version of the calendar contains the change
    return `${plan.calendar} was closed: ${change.reason} (version ${recorded!.version} of its changes)`;
  }

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
  isStoreUnavailable(failure)
    ? failure.message
    : 'A step failed unexpectedly. The log of the service contains the cause.';

/** Returns a day with the state of a closed exchange: no step runs. */
const createClosedDay = (day: DayDocument, reason: string, timestamp: string): DayDocument => ({
  ...day,
  state: 'skipped',
  reason,
  held: [],
  finished_at: timestamp,
  next_attempt_at: null,
});

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

const DAYS_PER_TRANSACTION = 50;
const DATE_LENGTH = 'YYYY-MM-DD'.length;

export interface PruneTerms {
  readonly scheduleId: string;
  /** Number of days to keep files after the end of a day; null keeps files permanently. */
  readonly keepDays: number | null;
  /** Today's date, YYYY-MM-DD. */
  readonly today: string;
}

/**
 * Removes the files of days that ended more than `keepDays` ago. The names, sizes and hashes of the files remain. Runs
 * once a day.
 * @cost a read of each older day that may still have files
 */
async function pruneFiles(documents: DocumentStore, { scheduleId, keepDays, today }: PruneTerms): Promise<void> {
  if (keepDays === null) return;
  const { files_from: from, pruned_on: prunedOn } = await readState(documents, scheduleId);
  if (prunedOn === today) return;
  const cutoffDate = formatDay(parseValidDay(today) - keepDays);
  /** Oldest session whose files are kept. */
  let oldestDate = from !== undefined && from > cutoffDate ? from : cutoffDate;
  for (let dayLimit = parseValidDay(cutoffDate); ;) {
    const page = await documents.numbers('schedule-day', scheduleId, { below: dayLimit, limit: DAYS_PER_TRANSACTION });
    const dates = page.map(formatDay).filter((date) => from === undefined || date >= from);
    await documents.transaction(async (tx) => {
      for (const date of dates) {
        // The files of an unreadable day are kept.
        const day = await readPlanDay(tx, scheduleId, date).catch(() => undefined);
        if (day === undefined || !hasFiles(day)) continue;
        const isOld = day.finished_at !== null && day.finished_at.slice(0, DATE_LENGTH) < cutoffDate;
        if (isOld) await tx.put('schedule-day', formatDayId(scheduleId, date), removeFiles(day));
        else oldestDate = date;
      }
    });
    if (dates.length < DAYS_PER_TRANSACTION) break;
    dayLimit = page.at(-1)!;
  }
  await documents.transaction(async (tx) => {
    const state: ScheduleState = await readState(tx, scheduleId);
    // A day may have been performed again meanwhile.
    const files_from = state.files_from !== from && state.files_from !== undefined ? state.files_from : oldestDate;
    await tx.put('schedule-state', scheduleId, { ...state, files_from, pruned_on: today });
  });
}

const hasFiles = ({ steps }: DayDocument): boolean =>
  steps.some(({ items }) => items.some(({ artifact }) => artifact !== null));

const removeFiles = (day: DayDocument): DayDocument => ({
  ...day,
  steps: day.steps.map((step) => ({ ...step, items: step.items.map((item) => ({ ...item, artifact: null })) })),
});

/**
 * Makes open days due immediately. A running day becomes due when its round ends. @returns true if any day became due
 */
export async function resumeDays(
  { documents, now }: Context,
  { schedules, days }: ScheduledDays,
  isAwaited: (day: DayDocument) => boolean,
): Promise<boolean> {
  let isDue = false;
  for (const id of await schedules.ids())
    for (const date of (await days.state(id)).open) {
      const isWaiting = (day: DayDocument | undefined): day is DayDocument =>
        day !== undefined && !hasEnded(day) && isAwaited(day);
      if (!isWaiting(await readPlanDay(documents, id, date))) continue;
      isDue = true;
      await documents.transaction(async (tx) => {
        const day = await readPlanDay(tx, id, date);
        if (isWaiting(day)) await days.changeIn(tx, { ...day, next_attempt_at: formatTimestamp(now()) });
      });
    }
  return isDue;
}

/**
 * Returns a test for days that an approval can affect: a day with a step that waits for the approval, and a running
 * day, which may start to wait for it.
 */
export const waitsForApproval =
  (approvalId: number) =>
  ({ state, steps }: DayDocument): boolean =>
    state === 'running' ||
    steps.some(({ items }) =>
      items.some(({ code, detail }) => code === 'APPROVAL_REQUIRED' && detail?.['approval_id'] === approvalId),
    );

/** Returns a test for days on which the exchange of their schedule has no session. */
export const isWithoutSession =
  (code: string, calendars: Pick<Calendars, 'get'>) =>
  ({ plan, date }: DayDocument): boolean =>
    plan.calendar === code && calendars.get(code)?.isSession(parseValidDay(date)) === false;

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

/** Interval between two checks for due days. */
const TICK_MS = 5_000;
/** Interval after a failed check, because the store may be unavailable. */
const FAILED_TICK_MS = 15_000;
/** Maximum number of schedules that run days at the same time. Each schedule uses the worker threads of the service. */
const SCHEDULE_CONCURRENCY = 4;

export function createDayRunner(
  context: Context,
  { schedules, days }: ScheduledDays,
  terms: DayRunnerTerms,
): DayRunner {
  const { documents, calendars } = context;
  const { clock, log } = terms;
  const holder = randomUUID();
  const closing = new AbortController();
  const performDay = createDayRounds(context, days, terms, { holder, closing: closing.signal });
  const runningSchedules = new Map<string, Promise<void>>();
  let scheduleCheck: Promise<void> | undefined;
  let hasWakeUp = false;
  let cancelTimer: (() => void) | undefined;

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
    if (!isStoreUnavailable(failure)) log.error({ ...context, err: failure }, message);
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
