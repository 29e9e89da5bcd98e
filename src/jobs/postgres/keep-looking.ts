import type { Clock } from '../clock.js';
import type { Room } from '../queue.js';
import type { RunningJob } from './job-rows.js';
import type { Presence } from './presence.js';

export interface LookingDependencies {
  readonly presence: Pick<Presence, 'pauseMs' | 'look'>;
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly leaseMs: number;
  readonly isOver: () => boolean;
  /** Free places of the node; undefined while it takes no work. */
  readonly room: () => Room | undefined;
  /** Called for each look that the database has answered. */
  readonly onAnswer: () => Promise<void>;
  readonly onWork: () => void;
  /** Gives up an attempt whose node is silent. */
  readonly lose: (attempt: RunningJob, cause: string) => Promise<void>;
  readonly onFailure: (thrown: unknown) => void;
}

/** Looks at the database again and again, a failure or not. */
export function keepLooking(dependencies: LookingDependencies): void {
  const { presence, clock, leaseMs, isOver, room, onAnswer, onWork, lose } = dependencies;
  /**
   * After an outage, in which this process may have begun, leases may have expired for lack of heartbeats: none is taken over
   * before this time.
   */
  let takesFromMs = clock.monotonicMs() + leaseMs;
  let isTakingOver = false;

  function onFailure(thrown: unknown): void {
    takesFromMs = clock.monotonicMs() + leaseMs;
    dependencies.onFailure(thrown);
  }

  async function takeOver(silent: readonly RunningJob[]): Promise<void> {
    const cause = `no sign of life for ${leaseMs / 1000} seconds`;
    for (const key of silent) await lose(key, cause);
  }

  async function look(): Promise<void> {
    const { hasWork, silent } = await presence.look(room());
    await onAnswer();
    if (hasWork) onWork();
    if (silent.length === 0 || isTakingOver || clock.monotonicMs() < takesFromMs) return;
    isTakingOver = true;
    // Signs of life of this node do not wait for it.
    void takeOver(silent)
      .catch(onFailure)
      .finally(() => (isTakingOver = false));
  }

  function lookLater(): void {
    clock.after(presence.pauseMs(), () => {
      if (!isOver()) void look().catch(onFailure).finally(lookLater);
    });
  }
  lookLater();
}
