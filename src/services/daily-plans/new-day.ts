import type { DayDocument, Renewal, StoredStep } from '#domain/daily-plans/day-document.js';
import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { DueDay } from '#domain/daily-plans/due-days.js';
import type { ScheduleDocument } from '#domain/daily-plans/schedule-document.js';
import type { Step } from '#domain/daily-plans/step-catalogue.js';
import { formatTimestamp } from '#store/timestamp.js';

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
