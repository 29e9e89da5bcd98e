import { Refusal } from '#domain/refusals/refusal.js';
import type { Clock } from './clock.js';
import type { ComputePool, Lane } from './compute-pool.js';
import type { TaskInput, TaskName, TaskOutput } from './tasks.js';

export interface QueryOrder<N extends TaskName> {
  readonly lane: Lane;
  readonly task: N;
  readonly input: TaskInput<N>;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs work with a time limit but without a job, so that nothing is stored.
 * @throws Refusal of the task; QUERY_LIMIT if it takes too long, OVERLOADED if it takes too much memory
 */
export async function runQuery<N extends TaskName>(
  { lane, task, input, signal }: QueryOrder<N>,
  { pool, clock, msMax }: { readonly pool: ComputePool; readonly clock: Clock; readonly msMax: number },
): Promise<TaskOutput<N>> {
  const timeout = new AbortController();
  const cancelTimer = clock.after(msMax, () => timeout.abort());
  const endSignal = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  try {
    return await pool.run({ lane, task, input, signal: endSignal }).output;
  } catch (thrown) {
    if (timeout.signal.aborted) {
      const seconds = msMax / 1000;
      throw new Refusal(
        'QUERY_LIMIT',
        `The computation took longer than ${seconds} seconds, the limit of an immediate answer (MAX_QUERY_SECONDS). Request less, such as fewer securities or a shorter range, or run it as a job (a backtest, an optimisation), which has more time.`,
        { limit: 'MAX_QUERY_SECONDS', seconds },
        { cause: thrown },
      );
    }
    if (thrown instanceof Refusal && thrown.code === 'WORKER_OUT_OF_MEMORY') {
      throw new Refusal('OVERLOADED', 'The computation ran out of memory.', null, { cause: thrown });
    }
    throw thrown;
  } finally {
    cancelTimer();
  }
}
