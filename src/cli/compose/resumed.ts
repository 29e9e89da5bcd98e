import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from '#domain/refusals/refusal.js';
import { followActive } from './cluster.js';
import type { Core } from './core.js';
import type { Role } from './service-store.js';

/** Delay before another attempt to reach the database. */
const RETRY_DELAY_MS = 1000;

export interface ResumedTerms {
  readonly role: Role;
  /** True to serve the stored content without reading its source again. */
  readonly keepsServed: boolean;
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal;
}

/** Loads the market that was served before the restart. Waits until the database answers. */
export async function resumeMarket(
  core: Pick<Core, 'activations' | 'markets' | 'datasets' | 'settings'>,
  { role, keepsServed, stopping }: ResumedTerms,
): Promise<void> {
  if (role === 'worker' || core.settings.readOnly) return followActive(core);
  for (;;) {
    try {
      return await core.datasets.resume(keepsServed);
    } catch (thrown) {
      if (!isUnavailable(thrown)) throw thrown;
    }
    await delay(RETRY_DELAY_MS, undefined, { ref: false });
    if (stopping.aborted) return;
  }
}
