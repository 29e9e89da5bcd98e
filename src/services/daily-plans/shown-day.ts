import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { DayDocument, ScheduleDay, ScheduleDaySummary, StoredItem } from '#domain/daily-plans/day-document.js';

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
