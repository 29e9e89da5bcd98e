import type { Health } from '#contract/health.js';
import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { isPaged, findMemoryLimit } from '#kernels/memory/paged-memory.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { computePanelBytes } from '#market/panels/panels.js';
import { describeFailure } from '#market/serving/served-markets.js';
import type { Check } from '#services/operations/health.js';
import type { MarketComponents } from './market.js';

const MIB = 2 ** 20;

/**
 * Describes where the panels of the served store are and how large they are. Returns undefined if no store is served.
 */
export function describePanels(servedMarket: Pick<ServedMarket, 'market'> | undefined): string | undefined {
  if (servedMarket === undefined) return undefined;
  const { datasetId, dates, identifiers, fields } = servedMarket.market;
  const bytes = computePanelBytes({ dates: dates.length, identifiers: identifiers.length, fields: fields.size });
  const limitText = `${Math.floor(findMemoryLimit().panelBytes / MIB)} MiB (--panel-memory-mb)`;
  const sizeText = `The data of ${datasetId} (${Math.ceil(bytes / MIB)} MiB)`;
  return isPaged(bytes)
    ? `${sizeText} is paged on the disk of the home, because it exceeds the limit of ${limitText}.`
    : `${sizeText} is in memory; the limit is ${limitText}.`;
}

/**
 * Returns a check that reports an active data store that failed to load. The service stays ready, because each request
 * that needs the store is refused with the reason.
 */
export function reportFailedMarket(markets: Pick<MarketComponents['markets'], 'failure' | 'served'>): Check {
  return {
    name: 'active_store',
    look() {
      const failure = markets.failure();
      return failure === undefined ? undefined : describeFailure(failure);
    },
    note: () => describePanels(markets.served()) ?? 'No data store failed to load.',
  };
}

/**
 * Describes the stores with data that end before the newest session of their calendar. Returns undefined if there are
 * none.
 */
export function describeLag(freshness: Health['freshness']): string | undefined {
  const late = freshness.filter(({ sessions_behind: count }) => count > 0);
  if (late.length === 0) return undefined;
  return late
    .map(
      ({ store_id: id, calendar, data_through: end, latest_session: latest, sessions_behind: count }) =>
        `${id} ends on ${end}, ${formatCount(count, 'session')} of ${calendar} behind (newest session ${latest}).`,
    )
    .join(' ');
}

/**
 * Returns a check that fails readiness while the data store that was served before a restart is loading. The check
 * warns if the data of a store end before the newest session of its calendar.
 */
export function awaitMarket(markets: Pick<MarketComponents['markets'], 'awaited'>): Check {
  return {
    name: 'data',
    unready: 'STORE_UNAVAILABLE',
    look() {
      const datasetId = markets.awaited();
      return datasetId === undefined ? undefined : `The data store ${datasetId} is loading after a restart.`;
    },
    note: () => 'No data store is loading.',
    warn: describeLag,
  };
}
