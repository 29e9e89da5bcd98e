import type { Logger } from 'pino';
import { describeChoice, openEngine, type EngineSetting } from '#kernels/engines/open-engine.js';
import type { Check } from '#services/operations/health.js';

/**
 * Opens the engine of the setting as every thread of the pool will, to learn what runs and why others do not.
 * The check fails while another engine than the one asked for does the work: results are right, but not as fast as
 * intended.
 */
export async function openNumerics(setting: EngineSetting, log: Logger): Promise<Check> {
  const choice = await openEngine(setting);
  const sentence = describeChoice(choice);
  if (choice.asAsked) log.info({ engine: choice.engine.name }, sentence);
  else log.warn({ engine: choice.engine.name, asked: setting }, sentence);
  return { name: 'numerics', look: () => (choice.asAsked ? undefined : sentence), note: () => sentence };
}
