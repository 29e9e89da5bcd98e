import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { findDueDay } from '#domain/daily-plans/due-days.js';
import type { DayDocument, Renewal, ScheduleDay } from '#domain/daily-plans/day-document.js';
import type { Judgement } from '#domain/daily-plans/judgement-document.js';
import type { StepType } from '#domain/daily-plans/step-catalogue.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { listSessionsBetween } from '#domain/calendars/sessions-between.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import { formatNumberedId } from '#store/document-id.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import type { Admission, ApprovalGate, ProposedChange } from '../approvals/approvals.js';
import { formatTimestamp } from '#store/timestamp.js';
import { createDay, renewDay, type AuthoredPlan } from './new-day.js';
import { requireSchedule, type ScheduleReader } from './schedules.js';
import { toDayResponse } from './shown-day.js';
import { assertFindingExists, createWaiverRequest, type WaiverRequest } from './waivers.js';
import { refuseMissingDay, hasEnded, readDay, readState, type StoredDays } from './stored-days.js';

/** Request to perform a day now. */
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

/** Decisions of people about days. */
export interface DayDecisions {
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

export interface DayDecisionsDependencies {
  readonly documents: DocumentStore;
  readonly schedules: ScheduleReader;
  readonly days: StoredDays;
  readonly calendars: Calendars;
  readonly approvals: ApprovalGate;
  readonly now: () => number;
  /** Wakes the runner because a day is due. */
  readonly wake: () => void;
}

/** Calendars and the present time. */
type Clock = Pick<DayDecisionsDependencies, 'calendars' | 'now'>;

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

export function createDayDecisions(dependencies: DayDecisionsDependencies): DayDecisions {
  const { documents, schedules, days, calendars, approvals, now, wake } = dependencies;

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

    async function decideInTransaction(tx: DocumentTransaction, admit: Admission['admit']): Promise<ScheduleDay> {
      const storedDay = await readDay(tx, scheduleId, date);
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
      assertSession(schedule, date, dependencies);
      const day = await documents.transaction(
        async (tx) => {
          const storedDay = await readDay(tx, scheduleId, date);
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
      assertSession(schedule, sessions.at(-1)!, dependencies);
      await documents.transaction(
        async (tx) => {
          for (const date of sessions) {
            const storedDay = await readDay(tx, scheduleId, date);
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
