import type { Clock } from '../clock.js';
import type { FreeCapacity } from '../queue.js';
import type { RunningJob } from './job-rows.js';
import type { Presence } from './presence.js';

export interface PollDependencies {
  readonly presence: Pick<Presence, 'pauseMs' | 'look'>;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly leaseMs: number;
  readonly isOver: () => boolean;
  /** Returns the free slots of the node; undefined while the node takes no work. */
  readonly getCapacity: () => FreeCapacity | undefined;
  /** Called after each poll that the database answered. */
  readonly onAnswer: () => Promise<void>;
  readonly onWork: () => void;
  /** Abandons an attempt whose node is silent. */
  readonly lose: (attempt: RunningJob, cause: string) => Promise<void>;
  readonly onFailure: (thrown: unknown) => void;
}

/** Polls the database repeatedly, despite failures. */
export function pollRepeatedly(dependencies: PollDependencies): void {
  const { presence, clock, leaseMs, isOver, getCapacity, onAnswer, onWork, lose } = dependencies;
  /**
   * Leases may have expired for lack of heartbeats during an outage, in which this process may have started: no attempt
   * is taken over before this time.
   */
  let takesFromMs = clock.monotonicMs() + leaseMs;
  let isTakingOver = false;

  function onFailure(thrown: unknown): void {
    takesFromMs = clock.monotonicMs() + leaseMs;
    dependencies.onFailure(thrown);
  }

  async function takeOver(silent: readonly RunningJob[]): Promise<void> {
    const cause = `no heartbeat for ${leaseMs / 1000} seconds`;
    for (const key of silent) await lose(key, cause);
  }

  async function pollOnce(): Promise<void> {
    const { hasWork, silent } = await presence.look(getCapacity());
    await onAnswer();
    if (hasWork) onWork();
    if (silent.length === 0 || isTakingOver || clock.monotonicMs() < takesFromMs) return;
    isTakingOver = true;
    // Heartbeats of this node do not wait for the takeover.
    void takeOver(silent)
      .catch(onFailure)
      .finally(() => (isTakingOver = false));
  }

  function lookLater(): void {
    clock.after(presence.pauseMs(), () => {
      if (!isOver()) void pollOnce().catch(onFailure).finally(lookLater);
    });
  }
  lookLater();
}
