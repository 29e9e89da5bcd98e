import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Pause in ms between two steps. Requests are answered in this time. */
const PAUSE_MS = 50;

/** Step that runs after the start and makes the first requests faster. */
export interface PreparationStep {
  /** Name in the log. */
  readonly name: string;
  run(): unknown;
}

/** Runs steps one after another. If a step fails, the failure is logged and the next step runs. */
export async function runPreparation(steps: Iterable<PreparationStep>, log: Pick<Logger, 'error'>): Promise<void> {
  for (const { name, run } of steps) {
    try {
      await run();
    } catch (err) {
      log.error({ err, step: name }, 'a preparation step failed');
    }
    await sleep(PAUSE_MS, undefined, { ref: false });
  }
}
