import { createMarketKey } from '#domain/market/market-identity.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Clock } from '#jobs/clock.js';
import { type ComputePool, type Lane, TaskStopped, WorkerLost } from '#jobs/compute-pool.js';
import type { Markets } from '#market/serving/markets.js';
import { THREAD_PREFIX, type WarmUpRequest } from './warm-up-requests.js';
import { type StepsDependencies, createWarmUpSteps } from './warm-up-steps.js';

/**
 * Warm-up of the worker threads. In idle time it makes requests that clients are likely to make, one at a time, and
 * discards the results. Code is then compiled and markets are open before a client needs them. Results do not depend on
 * the warm-up.
 */
export interface WarmUp {
  /** Called when a market is served or a run has been stored. */
  wake(runId?: string): void;
  /** Called when the exposures of a run were requested. */
  noteRequest(runId: string): void;
  /** Called when a thread has ended and lost its caches. */
  forget(): void;
  /** Stops making requests. */
  close(): void;
}

export interface WarmUpDependencies extends StepsDependencies {
  readonly markets: Pick<Markets, 'served'>;
  readonly pool: Pick<ComputePool, 'run' | 'load'>;
  /** Number of threads of the heavy lane. */
  readonly workers: number;
  readonly clock: Pick<Clock, 'after'>;
  /** Called for defects. */
  readonly onFault: (fault: unknown) => void;
}

/** Time in ms between the end of other work and the next check for idle time. */
const IDLE_MS = 200;
/**
 * Idle time in ms before the warm-up continues after a stored run or a request. To prepare a run costs more than the
 * run itself, so the warm-up waits until no further run follows. A request that is stopped again and again would never
 * end.
 */
const CALM_MS = 1000;

export function createWarmUp({
  documents,
  artifacts,
  markets,
  pool,
  isAlone,
  answers,
  workers,
  clock,
  onFault,
}: WarmUpDependencies): WarmUp {
  const steps = createWarmUpSteps({ documents, artifacts, pool, isAlone, answers });
  const requests = new Set<string>();
  /** Market for which the steps were created. */
  let warmKey: string | undefined;
  let cancelTimer: (() => void) | undefined;
  /** True if a run was stored very recently. */
  let isAwaiting = false;
  let isAsking = false;
  let isFinished = false;
  /** True after a request ended a thread. The warm-up then makes no more requests on this market. */
  let isHarmful = false;

  function checkIdle(afterMs = IDLE_MS): void {
    if (isFinished) return;
    cancelTimer ??= clock.after(afterMs, () => {
      cancelTimer = undefined;
      if (isAwaiting && pool.load('heavy') > 0) return checkIdle(CALM_MS); // a run takes longer than the wait
      isAwaiting = false;
      if (!isAsking) void sendRequests();
    });
  }

  function awaitCalm(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    isAwaiting = true;
    checkIdle(CALM_MS);
  }

  async function sendRequests(): Promise<void> {
    isAsking = true;
    try {
      const pause = await sendUntilBusy();
      if (pause !== 'done') checkIdle(pause);
    } catch (failure) {
      recordFailure(failure);
    } finally {
      isAsking = false;
    }
  }

  /** @returns ms until the next check */
  async function sendUntilBusy(): Promise<number | 'done'> {
    for (;;) {
      const step = isFinished ? undefined : await findNextStep();
      if (step === undefined) return 'done';
      if (isAwaiting || !isIdle(step.lane)) return IDLE_MS;
      requests.add(step.key);
      try {
        await step.ask();
      } catch (failure) {
        if (failure instanceof TaskStopped) {
          requests.delete(step.key); // the step yielded to a request and resumes after it
          return CALM_MS;
        }
        recordFailure(failure);
      }
    }
  }

  function recordFailure(failure: unknown): void {
    if (isFinished) return;
    if (failure instanceof WorkerLost || (failure instanceof Refusal && failure.code === 'WORKER_OUT_OF_MEMORY'))
      isHarmful = true;
    if (!(failure instanceof Refusal)) onFault(failure); // The request may be refused, like a client's request.
  }

  /**
   * Returns true if a lane may run a step. Accepted work has priority: a light step runs while a core is free, a heavy
   * step only if there is no other work.
   */
  function isIdle(lane: Lane): boolean {
    return pool.load('light') === 0 && pool.load('heavy') < (lane === 'light' ? workers : 1);
  }

  async function findNextStep(): Promise<WarmUpRequest | undefined> {
    const servedMarket = markets.served();
    if (servedMarket === undefined) return undefined;
    const key = createMarketKey(servedMarket.handle);
    if (key !== warmKey) {
      for (const step of requests) if (!step.startsWith(THREAD_PREFIX)) requests.delete(step);
      warmKey = key;
      isHarmful = false;
    }
    if (isHarmful) return undefined;
    for await (const step of steps.on(servedMarket)) if (!requests.has(step.key)) return step;
    return undefined;
  }

  return {
    wake(runId) {
      if (runId === undefined) return checkIdle();
      steps.stored(runId);
      awaitCalm();
    },
    noteRequest(runId) {
      if (steps.noteRequest(runId)) checkIdle();
    },
    forget() {
      requests.clear();
      checkIdle();
    },
    close() {
      isFinished = true;
      cancelTimer?.();
    },
  };
}
