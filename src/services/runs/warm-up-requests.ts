import type { MarketData } from '#domain/market/market-data.js';
import { SINGLE_GROUPS } from '#domain/market/market-groups.js';
import type { Lane, ComputePool } from '#jobs/compute-pool.js';
import type { TaskInput, TaskName } from '#jobs/tasks.js';

/** Prefix of the keys of steps that a thread runs only once, whatever market is served. */
export const THREAD_PREFIX = 'thread: ';

/** Number of groups in the requested exposures. */
const SHOWN_GROUPS = 20;

/** Request that is made once per thread or once per market. */
export interface WarmUpRequest {
  readonly key: string;
  readonly lane: Lane;
  ask(): Promise<unknown>;
}

/**
 * Function that creates the step of a request. A step can be interrupted by other work; the thread caches its partial
 * results.
 */
export type RequestStep = <N extends TaskName>(
  key: string,
  task: N,
  input: () => TaskInput<N> | Promise<TaskInput<N>>,
  lane?: Lane,
) => WarmUpRequest;

export const createRequestStep =
  (pool: Pick<ComputePool, 'run'>): RequestStep =>
  (key, task, input, lane = 'light') => ({
    key,
    lane,
    ask: async () => pool.run({ lane, task, input: await input(), yields: true }).output,
  });

/** Returns the parameters of a range. Both ends may be open. */
export const createRange = (start: string | null, end: string | null) => ({
  ...(start === null ? {} : { start }),
  ...(end === null ? {} : { end }),
});

/** Common parameters of all requests about exposures. */
export const EXPOSURES = {
  view: 'exposures',
  groups: SHOWN_GROUPS,
  interval: 'native',
  universe: null,
  benchmark: null,
  benchmarkColumns: null,
} as const;

/** Returns the column that groups securities: SECTOR, otherwise the first reference column, otherwise IDENTIFIER. */
export function findGroupColumn({ reference: { columns } }: MarketData): string {
  return columns.find((column) => column === 'SECTOR') ?? columns[0] ?? SINGLE_GROUPS;
}
