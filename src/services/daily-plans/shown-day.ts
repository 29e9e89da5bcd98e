import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { DayDocument, ScheduleDay, ScheduleDaySummary, StoredItem } from '#domain/daily-plans/day-document.js';

/** Returns a day as clients see it, with the number of indices that each step holds back. */
export function shownDay({
  plan,
  lease: _lease,
  key_id: _key,
  renewal: _renewal,
  steps,
  ...day
}: DayDocument): ScheduleDay {
  const shown = ({ artifact: _artifact, ...item }: StoredItem) => item;
  const indices = plan.indices.length;
  return {
    ...day,
    steps: steps.map((step) => {
      const held = day.held.filter((index) => index.step === step.type && index.since === day.date).length;
      const { message } = step;
      return {
        ...step,
        message:
          step.state === 'done' && held > 0
            ? `${message} ${held} of ${formatCount(indices, 'index', 'indices')} held back.`
            : message,
        held,
        indices,
        items: step.items.map(shown),
      };
    }),
  };
}

export function summaryOf(day: DayDocument): ScheduleDaySummary {
  const { steps, ...rest } = shownDay(day);
  return { ...rest, step: steps.find(({ state }) => state !== 'done')?.type ?? null };
}
