import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Pause between two steps, so that requests are answered meanwhile. */
const PAUSE_MS = 50;

/** A step of the work after the start that shortens the first requests. */
export interface PreparationStep {
  /** Name in the log. */
  readonly name: string;
  run(): unknown;
}

/** Runs steps one after another. A step that fails is logged, and the next step runs. */
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
