import { healthRoutes } from '#contract/health.js';
import { metricsRoutes } from '#contract/metrics.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Handlers } from '#http/handler.js';
import type { JobHandlers, JobKind } from '#jobs/job-kind.js';
import type { Activations } from '#services/datasets/activations.js';
import type { MarketComponents } from './market.js';

/** Routes of a worker: health and metrics. */
export const WORKER_API = { ...healthRoutes, ...metricsRoutes };

export function createWorkerHandlers(handlers: Handlers<typeof WORKER_API>): Handlers<typeof WORKER_API> {
  const { getHealth, getLiveness, getReadiness, getMetrics } = handlers;
  return { getHealth, getLiveness, getReadiness, getMetrics };
}

/** Wraps job kinds so that each attempt first loads the active market. Another process may have activated it. */
export function addActiveMarket(kinds: JobHandlers, { follow }: Pick<Activations, 'follow'>): JobHandlers {
  const entries = Object.entries(kinds as Record<string, JobKind<unknown>>).map(([name, kind]) => {
    const run: JobKind<unknown>['run'] = async (payload, attempt) => {
      await follow();
      return kind.run(payload, attempt);
    };
    const { runParts } = kind;
    if (runParts === undefined) return [name, { ...kind, run }];
    const loadActiveMarket: typeof runParts = async (payload, parts, attempt) => {
      await follow();
      return runParts(payload, parts, attempt);
    };
    return [name, { ...kind, run, runParts: loadActiveMarket }];
  });
  return Object.fromEntries(entries) as JobHandlers; // The wrapped kinds keep their names and payload types.
}

/** Loads the active market. For a process that does not read sources. */
export async function followActive({
  activations,
  markets,
}: Pick<MarketComponents, 'activations' | 'markets'>): Promise<void> {
  try {
    await activations.follow();
  } catch (failure) {
    if (!(failure instanceof Refusal)) throw failure; // The next job tries again.
  } finally {
    markets.settle();
  }
}
