import type { Finding } from '#domain/base/findings.js';
import { formatCount } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertOrder } from '#domain/base/schema.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { listSessionsBetween } from '#domain/calendars/calendar.js';
import { FACTS_LISTED_MAX } from '#domain/definition/approvals.js';
import { type AcceptedFinding, Judgement } from '#domain/definition/daily-plan-checks.js';
import type { Authorship } from '#domain/definition/versions.js';
import {
  type DayDocument,
  findDueDay,
  findNextDay,
  type Renewal,
  type ScheduleDay,
  type ScheduleDaySummary,
  type StepType,
  type Waiver,
} from '#domain/outputs/daily-plans.js';
import { type DocumentTransaction, formatNumberedId, formatTimestamp, parseStored } from '#store/port.js';
import { mapInTurns } from '#store/reach.js';
import type { ChangeAdmission, ProposedChange } from '../shared/approvals.js';
import type { Context } from '../shared/context.js';
import type { FindingDetail } from './checks.js';
import { requireSchedule, type ScheduledDays } from './schedules.js';
import {
  addHoldReason,
  type AuthoredPlan,
  createDay,
  createSummary,
  type DayChanges,
  hasEnded,
  holdsLaterDays,
  listFiles,
  readPlanDay,
  readState,
  refuseMissingDay,
  renewDay,
  toDayResponse,
} from './stored-days.js';

/** Findings to accept. */
type WaiverRequest = Pick<Waiver, 'check' | 'index_id' | 'identifier' | 'reason'>;

/** Returns the request for approval that must be stored before findings are accepted. */
function createWaiverRequest(day: DayDocument, waiverRequest: WaiverRequest): ProposedChange {
  const { schedule_id: scheduleId, date } = day;
  const { check, index_id: index, identifier } = waiverRequest;
  const subject = [identifier, index].filter((name) => name !== null).join(' in ');
  const summary = `Accept findings of ${check}${subject === '' ? '' : ` of ${subject}`} on ${date} in ${scheduleId}.`;
  const findings = selectFindings(day, waiverRequest);
  return {
    action: 'waive',
    subject: scheduleId,
    content: { date, ...waiverRequest },
    summary,
    facts: {
      kind: 'waive',
      schedule_id: scheduleId,
      date,
      ...waiverRequest,
      findings: findings.slice(0, FACTS_LISTED_MAX),
      total: findings.length,
    },
    day: { schedule_id: scheduleId, date },
  };
}

function selectFindings(
  { steps }: DayDocument,
  { check, index_id: index, identifier }: WaiverRequest,
): AcceptedFinding[] {
  return steps.flatMap(({ items }) =>
    items.flatMap(({ index_id: indexId, message, detail }) => {
      const findingDetail = detail as Partial<FindingDetail> | null; // the step of checks wrote the detail
      if (indexId === null || findingDetail?.check !== check || (index !== null && index !== indexId)) return [];
      if (identifier !== null && identifier !== findingDetail.identifier) return [];
      return [
        {
          index_id: indexId,
          identifier: findingDetail.identifier ?? null,
          message,
          measure: findingDetail.measure ?? null,
        },
      ];
    }),
  );
}

/**
 * Refuses a waiver for findings that the checks did not report. Before and during the checks, any finding may be
 * accepted.
 * @throws Refusal VALIDATION_FAILED
 */
function assertFindingExists(day: DayDocument, waiverRequest: WaiverRequest): void {
  const { check, index_id: index, identifier } = waiverRequest;
  const { date, plan, state, steps, schedule_id: scheduleId } = day;
  const refuseWaiver = (code: Finding['code'], path: string, message: string, value: string): never => {
    throw refuseWithFindings('request', [{ severity: 'error', code, path, message, value }]);
  };
  if (index !== null && !plan.indices.includes(index))
    refuseWaiver('UNKNOWN_INDEX', 'index_id', `${index} is not an index of the schedule ${scheduleId}.`, index);
  const isChecked = steps.some((step) => CHECK_STEPS.has(step.type) && step.state === 'done');
  if (state === 'running' || !isChecked || selectFindings(day, waiverRequest).length > 0) return;
  const otherFindings = selectFindings(day, { ...waiverRequest, identifier: null });
  // A check lists only its first findings with their securities.
  if (identifier !== null && otherFindings.some((finding) => finding.identifier === null)) return;
  const familyFindings = selectFindings(day, { ...waiverRequest, index_id: null, identifier: null });
  // Sorts the names, because findings have the order in which the indices were checked.
  const formatNames = (names: readonly (string | null)[]): string =>
    [...new Set(names)].toSorted().slice(0, NAMED_MAX).join(', ');
  if (familyFindings.length === 0)
    refuseWaiver('NOT_IN_CHOICES', 'check', `The check ${check} has no finding on ${date}.`, check);
  const indexText = index === null ? '' : ` in ${index}`;
  if (index !== null && otherFindings.length === 0) {
    const message = `The check ${check} has no finding in ${index} on ${date}. It has findings in ${formatNames(familyFindings.map((finding) => finding.index_id))}.`;
    refuseWaiver('NOT_IN_CHOICES', 'index_id', message, index);
  }
  const message = `The check ${check} has no finding of ${identifier}${indexText} on ${date}. It has findings of ${formatNames(otherFindings.map((finding) => finding.identifier))}.`;
  refuseWaiver('NOT_IN_CHOICES', 'identifier', message, String(identifier));
}

const CHECK_STEPS: ReadonlySet<StepType> = new Set(['checks', 'compare']);
const NAMED_MAX = 5;

export interface RunDayRequest {
  /** Steps to repeat. Their results are removed first. */
  readonly again: readonly StepType[];
  readonly reason: string | null;
}

export interface Backfill {
  readonly start: string;
  readonly end: string;
  readonly reason: string | null;
}

interface DayDecisions {
  /**
   * Runs a day immediately with the current schedule. If the day is running, it runs again after the current round.
   * @throws Refusal SCHEDULE_NOT_FOUND, VALIDATION_FAILED
   */
  run(scheduleId: string, date: string, request: RunDayRequest, by: Authorship): Promise<ScheduleDay>;
  /** Skips a day that has not ended. @throws Refusal SCHEDULE_NOT_FOUND, DAY_NOT_FOUND, DAY_ENDED */
  skip(scheduleId: string, date: string, reason: string, by: Authorship): Promise<ScheduleDay>;
  /**
   * Accepts findings of a check, and continues the day immediately. @throws Refusal SCHEDULE_NOT_FOUND, DAY_NOT_FOUND,
   * DAY_ENDED
   */
  waive(scheduleId: string, date: string, waiverRequest: WaiverRequest, by: Authorship): Promise<ScheduleDay>;
  /** Performs the days of a range, oldest first. @throws Refusal SCHEDULE_NOT_FOUND, VALIDATION_FAILED, INVALID_RANGE */
  backfill(scheduleId: string, range: Backfill, by: Authorship): Promise<{ readonly dates: readonly string[] }>;
}

/** Calendars and the present time. */
type Clock = Pick<Context, 'calendars' | 'now'>;

/** Decision without the members that have default values. */
type JudgementDraft = Pick<Judgement, 'action' | 'schedule_id' | 'date' | 'indices' | 'reason'> & Partial<Judgement>;
/**
 * Result of a decision: the changed day, an entry for the register, and the change that another person must approve, if
 * any.
 */
interface DecidedDay {
  readonly day: DayDocument;
  readonly draft: JudgementDraft;
  readonly proposedChange?: ProposedChange;
}
const NO_WAIVER = { index_id: null, check: null, identifier: null, findings: [], approval_id: null, approved_by: [] };
const ONE_SESSION = { last_date: null, sessions: 1 };

/** Maximum number of sessions of one backfill: four years. */
const BACKFILL_MAX = 1040;

function createDayDecisions(context: Context, { schedules, days }: ScheduledDays, wake: () => void): DayDecisions {
  const { documents, calendars, approvals, now } = context;

  async function recordJudgement(tx: DocumentTransaction, draft: JudgementDraft, authorship: Authorship) {
    const seq = (await tx.lastNumber('judgement', draft.schedule_id)) + 1;
    const { author, keyId = null } = authorship;
    const identity = { seq, at: formatTimestamp(now()), author, key_id: keyId };
    const judgement: Judgement = { ...identity, ...ONE_SESSION, ...NO_WAIVER, ...draft };
    await tx.put('judgement', formatNumberedId(draft.schedule_id, seq), judgement);
  }

  /** Applies a person's decision to a day that has not ended. */
  async function makeDecision(
    scheduleId: string,
    date: string,
    authorship: Authorship,
    decide: (day: DayDocument) => DecidedDay,
  ): Promise<ScheduleDay> {
    await requireSchedule(schedules, scheduleId);
    return approvals.guarded(authorship, ({ admit }) =>
      documents.transaction((tx) => decideInTransaction(tx, admit), { by: authorship }),
    );

    async function decideInTransaction(tx: DocumentTransaction, admit: ChangeAdmission['admit']): Promise<ScheduleDay> {
      const storedDay = await readPlanDay(tx, scheduleId, date);
      if (storedDay === undefined) throw refuseMissingDay(scheduleId, date);
      if (hasEnded(storedDay))
        throw new Refusal('DAY_ENDED', `The day ${date} of ${scheduleId} is ${storedDay.state}.`, {
          state: storedDay.state,
        });
      const { day, draft, proposedChange } = decide(storedDay);
      const agreement = await admit(tx, proposedChange);
      await days.changeIn(tx, day);
      const findings = proposedChange?.facts.kind === 'waive' ? proposedChange.facts.findings : [];
      await recordJudgement(tx, { ...draft, ...agreement, findings }, authorship);
      return toDayResponse(day);
    }
  }

  return {
    async run(scheduleId, date, { again, reason }, authorship) {
      const schedule = await requireSchedule(schedules, scheduleId);
      assertSession(schedule, date, context);
      const day = await documents.transaction(
        async (tx) => {
          const storedDay = await readPlanDay(tx, scheduleId, date);
          const next = createRenewal(storedDay, schedule, { date, again, calendars, now });
          await days.changeIn(tx, next);
          const { indices } = schedule.plan;
          await recordJudgement(tx, { action: 'run', schedule_id: scheduleId, date, indices, reason }, authorship);
          return next;
        },
        { by: { ...authorship, note: reason ?? authorship.note } },
      );
      wake();
      return toDayResponse(day);
    },
    async skip(scheduleId, date, reason, authorship) {
      const timestamp = formatTimestamp(now());
      const completion = {
        state: 'skipped',
        reason,
        lease: null,
        finished_at: timestamp,
        next_attempt_at: null,
      } as const;
      return makeDecision(scheduleId, date, authorship, (day) => ({
        day: { ...removeRenewal(day), ...completion, held: [] },
        draft: { action: 'skip', schedule_id: scheduleId, date, indices: day.plan.indices, reason },
      }));
    },
    async waive(scheduleId, date, waiverRequest, authorship) {
      const timestamp = formatTimestamp(now());
      const { author, keyId = null } = authorship;
      const day = await makeDecision(scheduleId, date, authorship, (storedDay) => {
        assertFindingExists(storedDay, waiverRequest);
        return {
          day: {
            ...storedDay,
            waivers: [...storedDay.waivers, { ...waiverRequest, author, key_id: keyId, at: timestamp }],
            next_attempt_at: timestamp,
          },
          draft: {
            action: 'waive',
            schedule_id: scheduleId,
            date,
            indices: waiverRequest.index_id === null ? storedDay.plan.indices : [waiverRequest.index_id],
            ...waiverRequest,
          },
          proposedChange: createWaiverRequest(storedDay, waiverRequest),
        };
      });
      wake();
      return day;
    },
    async backfill(scheduleId, { start, end, reason }, authorship) {
      const schedule = await requireSchedule(schedules, scheduleId);
      assertOrder({ start, end });
      const sessions = listBackfillSessions(schedule, { start, end, calendars });
      assertSession(schedule, sessions.at(-1)!, context);
      await documents.transaction(
        async (tx) => {
          for (const date of sessions) {
            const storedDay = await readPlanDay(tx, scheduleId, date);
            if (storedDay?.state === 'done' || storedDay?.state === 'running') continue;
            await days.changeIn(tx, createRenewal(storedDay, schedule, { date, again: [], calendars, now }));
          }
          const draft = createBackfillDraft(schedule, sessions, reason);
          await recordJudgement(tx, draft, authorship);
        },
        { by: authorship },
      );
      wake();
      const { open } = await readState(documents, scheduleId);
      return { dates: sessions.filter((date) => open.includes(date)) };
    },
  };
}

/** Returns the entry for the register. @param sessions sessions of the range, at least one */
function createBackfillDraft({ id, plan }: AuthoredPlan, sessions: readonly string[], reason: string | null) {
  const last = sessions.at(-1)!;
  return {
    action: 'backfill',
    schedule_id: id,
    date: sessions[0]!,
    last_date: last,
    sessions: sessions.length,
    indices: plan.indices,
    reason: reason ?? `Through ${last}.`,
  } as const satisfies JudgementDraft;
}

/** Refuses a day in the future or without a session. @throws Refusal VALIDATION_FAILED */
function assertSession({ plan }: AuthoredPlan, date: string, { calendars, now }: Clock): void {
  const calendar = calendars.get(plan.calendar);
  const isSession = calendar?.isSession(parseValidDay(date)) === true;
  const isFuture =
    calendar !== undefined &&
    findDueDay(parseValidDay(date), { ...plan, at: '00:00', day_offset: 0 }, calendar).dueMs > now();
  if (isSession && !isFuture) return;
  const message = isSession ? `The session ${date} has not started.` : `${date} is not a session of ${plan.calendar}.`;
  throw refuseWithFindings('request', [{ severity: 'error', code: 'BAD_DATE', path: 'date', message, value: date }]);
}

/** Returns the sessions of a range. @throws Refusal VALIDATION_FAILED if the range has no sessions or too many */
function listBackfillSessions(
  { plan }: AuthoredPlan,
  { start, end, calendars }: Pick<Backfill, 'start' | 'end'> & Pick<Clock, 'calendars'>,
): string[] {
  const calendar = calendars.get(plan.calendar);
  const sessions = calendar === undefined ? [] : [...listSessionsBetween(calendar.sessions, start, end)].map(formatDay);
  if (sessions.length === 0 || sessions.length > BACKFILL_MAX) {
    const message = `${plan.calendar} has ${formatCount(sessions.length, 'session')} from ${start} to ${end}; a backfill must have 1 to ${BACKFILL_MAX} sessions.`;
    throw refuseWithFindings('request', [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'start', message }]);
  }
  return sessions;
}

/**
 * Returns the day for its next round under the current schedule. Creates the day if it does not exist. A running day
 * stores the request and runs again when its round ends.
 */
function createRenewal(
  storedDay: DayDocument | undefined,
  schedule: AuthoredPlan,
  { date, again, calendars, now }: Clock & { readonly date: string; readonly again: readonly StepType[] },
): DayDocument {
  if (storedDay === undefined) {
    const calendar = calendars.get(schedule.plan.calendar)!; // assertSession has validated the date
    return createDay(schedule, findDueDay(parseValidDay(date), schedule.plan, calendar), now());
  }
  const timestamp = formatTimestamp(now());
  const { plan, version, author, keyId } = schedule;
  const isRunning = storedDay.state === 'running' && storedDay.lease !== null;
  const earlierSteps = isRunning ? (storedDay.renewal?.again ?? []) : [];
  const renewal: Renewal = { plan, version, author, key_id: keyId, again: [...new Set([...earlierSteps, ...again])] };
  return isRunning ? { ...storedDay, renewal, next_attempt_at: timestamp } : renewDay(storedDay, renewal, timestamp);
}

const removeRenewal = ({ renewal: _renewal, ...day }: DayDocument): DayDocument => day;

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

/** @param wake wakes the runner because a day is due */
export function createDays(
  context: Context,
  scheduledDays: ScheduledDays,
  changes: Pick<DayChanges, 'watch'>,
  wake: () => void,
): Days {
  const { documents, artifacts, calendars, now } = context;
  const { schedules, days } = scheduledDays;

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
    ...createDayDecisions(context, scheduledDays, wake),
    async list(scheduleId, { limit, before }) {
      const schedule = await requireSchedule(schedules, scheduleId);
      const dayLimit = before === undefined ? undefined : parseValidDay(before);
      const dayNumbers = await documents.numbers('schedule-day', scheduleId, { below: dayLimit, limit });
      const storedDays = await mapInTurns(dayNumbers, (day) => days.get(scheduleId, formatDay(day)));
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
