import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { DayDocument, ItemState, StoredItem } from '#domain/daily-plans/day-document.js';
import type { StepOf, StepType } from '#domain/daily-plans/step-catalogue.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Origin } from '#jobs/origin.js';

/** Result of an item. Members that are absent become null in the stored item. */
export interface ItemResult extends Partial<Pick<StoredItem, 'code' | 'job_id' | 'file' | 'detail' | 'artifact'>> {
  readonly state: ItemState;
  readonly message: string;
}

/** The plan, the day and the indices that a step works on. */
export interface StepContext<S> {
  readonly spec: S;
  readonly day: () => DayDocument;
  /** Indices of the plan in groups. An index depends only on indices of earlier groups. */
  readonly waves: readonly (readonly string[])[];
  /**
   * Returns true if an index can be processed: no earlier day or step holds back the index or an index on which it
   * depends, and this step has not stopped at an index on which it depends.
   */
  isOpen(indexId: string): boolean;
  /** Returns the indices of the plan on which an index depends. */
  getAncestors(indexId: string): ReadonlySet<string>;
  item(key: string): StoredItem | undefined;
  put(key: string, indexId: string | null, result: ItemResult): Promise<void>;
  /** Removes the items of all indices from this step. */
  clear(): Promise<void>;
  /** Removes an item from this step. */
  drop(key: string): Promise<void>;
  log(message: string): Promise<void>;
  /** Time of records, ISO-8601. */
  readonly timestamp: () => string;
  /** Author of the published closes. */
  readonly by: Authorship;
  readonly origin: Origin;
  /** Aborted when the service stops, or another process takes over the day. */
  readonly signal: AbortSignal;
}

/** Result of a step. `waiting` and `failed` end the round: later steps are not performed. */
export interface StepOutcome {
  readonly state: 'done' | 'waiting' | 'failed';
  readonly message: string;
  readonly code?: string | null;
}

/** Function that runs one kind of step. When it runs again, it repeats only the items that are not done. */
export type Performer<T extends StepType> = (context: StepContext<StepOf<T>>) => Promise<StepOutcome>;

/**
 * Maximum number of indices of one wave that are processed at the same time. They share the worker threads of the
 * service.
 */
const INDEX_CONCURRENCY = 8;

/**
 * Runs a step for every open index, parents first. A refusal blocks only its index. Any other error is a defect and
 * ends the round.
 * @returns number of indices for which the step is done
 */
export async function performEachIndex<S>(
  context: StepContext<S>,
  perform: (indexId: string) => Promise<ItemResult>,
  indices?: readonly string[] | null,
): Promise<number> {
  const selectedIndices = indices == null ? undefined : new Set(indices);
  let count = 0;
  for (const wave of context.waves) {
    const openIds = wave.filter(
      (id) => (selectedIndices === undefined || selectedIndices.has(id)) && context.isOpen(id),
    );
    await runConcurrently(openIds, INDEX_CONCURRENCY, async (id) => {
      const result = await perform(id).catch((failure: unknown) => createBlockedResult(failure, context.signal));
      await context.put(id, id, result);
      if (result.state === 'done') count++;
    });
  }
  return count;
}

/** Describes a step by its number of completed indices, for example `3 indices published.` */
export const describeIndices = (count: number, outcome: string): string =>
  count === 0
    ? `No index ${outcome}; the indices are held back or waiting.`
    : `${formatCount(count, 'index', 'indices')} ${outcome}.`;

/**
 * Returns the result of an item that was refused or waits for an approval. @throws any failure that is not a refusal,
 * and every failure after an abort
 */
export function createBlockedResult(failure: unknown, signal: AbortSignal): ItemResult {
  if (!(failure instanceof Refusal) || signal.aborted) throw failure;
  const state = failure.code === 'APPROVAL_REQUIRED' ? 'waiting' : 'blocked';
  return { state, code: failure.code, message: failure.message, detail: failure.detail };
}

/** Runs work on every value, with limited concurrency. */
export async function runConcurrently<T>(
  values: readonly T[],
  concurrency: number,
  work: (value: T) => Promise<void>,
): Promise<void> {
  const remainingValues = values.values();
  const runWorker = async (): Promise<void> => {
    for (const value of remainingValues) await work(value);
  };
  const workers = await Promise.allSettled(Array.from({ length: Math.min(concurrency, values.length) }, runWorker));
  const failedWorker = workers.find((result) => result.status === 'rejected');
  if (failedWorker !== undefined) throw failedWorker.reason;
}
