import { LOG_LINES_MAX, type DayDocument, type StoredItem, type StoredStep } from '#domain/daily-plans/day-document.js';
import type { StoredDays } from './stored-days.js';

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
