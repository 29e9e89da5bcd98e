import type { Clock } from '../clock.js';
import type { FreeCapacity } from '../queue.js';
import type { RunningJob } from './job-rows.js';
import type { Presence } from './presence.js';

export interface PollDependencies {
  readonly presence: Pick<Presence, 'pauseMs' | 'look'>;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly leaseMs: number;
  readonly isOver: () => boolean;
  /** Returns the free slots of the node. Returns undefined while the node takes no work. */
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
   * Time before which no attempt is taken over. Leases may have expired without heartbeats during an outage of the
   * database, and this process may have started during the outage.
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
    // Takes over attempts without waiting, so that heartbeats of this node continue.
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
