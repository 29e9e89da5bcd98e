import type { Logger } from 'pino';
import { describeChoice, openEngine, type EngineSetting } from '#kernels/engines/open-engine.js';
import type { Check } from '#services/operations/health.js';

/**
 * Opens the configured engine in the same way as the threads of the pool, to find out which engine runs and why others
 * do not. The returned check fails if another engine runs: results are then correct, but slower than intended.
 */
export async function openNumerics(setting: EngineSetting, log: Logger): Promise<Check> {
  const choice = await openEngine(setting);
  const sentence = describeChoice(choice);
  if (choice.asAsked) log.info({ engine: choice.engine.name }, sentence);
  else log.warn({ engine: choice.engine.name, asked: setting }, sentence);
  return { name: 'numerics', look: () => (choice.asAsked ? undefined : sentence), note: () => sentence };
}
