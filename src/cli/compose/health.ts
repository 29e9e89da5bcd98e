import type { Logger } from 'pino';
import type { Health } from '#contract/service.js';
import { formatCount } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { isLiveNode } from '#jobs/distributed/nodes.js';
import { describeChoice, type EngineSetting, openNumericEngine } from '#kernels/engines/open-engine.js';
import { findMemoryLimit, isPaged } from '#kernels/memory/paged-memory.js';
import { computePanelBytes } from '#market/panels/panels.js';
import { describeFailure, type ServedMarket } from '#market/serve/served-markets.js';
import type { PartCheck } from '#services/shared/service.js';
import type { FreeSpace } from '#store/artifacts/free-space.js';
import type { Store } from '#store/open-store.js';
import type { ArtifactStore } from '#store/port.js';
import { CLOCK_REFUSED_MS, CLOCK_REPORTED_MS, describeClockFault } from '#store/postgres/database-clock.js';
import type { DatabaseDocuments } from '#store/postgres/open-documents.js';
import type { MarketComponents } from './market.js';

/** Creates the metrics of a database. Figures that are unavailable are left out, and nobody waits for them. */
export function createDatabaseFigures({ database, schema, clock, fault }: DatabaseDocuments) {
  return {
    onStatement: database.onStatement,
    connections: database.connections,
    isSilent: database.isSilent,
    clockOffset: () => clock.offsetMs() / 1000,
    async nodes() {
      const connectionFault = fault();
      if (connectionFault !== undefined) throw new Refusal('STORE_UNAVAILABLE', connectionFault);
      const [row] = await database.query<Record<'live' | 'lost', number>>(
        `SELECT count(*) FILTER (WHERE ${isLiveNode})::int AS live, count(*) FILTER (WHERE NOT ${isLiveNode})::int AS lost
          FROM ${schema}.nodes`,
        [],
      );
      return { ...row! }; // The query returns exactly one row.
    },
  };
}

/** Returns the checks of the database, its clock and the results location. */
export const createStoreChecks = (store: Store): PartCheck[] => [
  ...checkDatabaseConnection(store),
  ...checkClock(store),
  ...checkResultsLocation(store.artifacts),
];

/** Fails readiness while the database does not answer. */
function checkDatabaseConnection({ shared }: Store): PartCheck[] {
  if (shared === undefined) return [];
  return [{ name: 'database', unready: 'STORE_UNAVAILABLE', look: shared.fault, note: () => 'The database answers.' }];
}

/** Returns a check that reports a node with a wrong clock. If the error is large, readiness fails. */
function checkClock({ shared }: Store): PartCheck[] {
  if (shared === undefined) return [];
  const { clock } = shared;
  const createClockCheck = (limitMs: number) => () => describeClockFault(clock, limitMs);
  return [
    {
      name: 'clock',
      look: createClockCheck(CLOCK_REPORTED_MS),
      note: () => `The clock differs by ${Math.round(Math.abs(clock.offsetMs()))} ms from that of the database.`,
    },
    { name: 'clock_limit', unready: 'STORE_UNAVAILABLE', look: createClockCheck(CLOCK_REFUSED_MS) },
  ];
}

/** Checks the results location that several machines share. */
function checkResultsLocation({ health }: Pick<ArtifactStore, 'health'>): PartCheck[] {
  if (health === undefined) return [];
  const formatNote = () => 'The results storage is available and belongs to the database.';
  return [{ name: 'artifacts', unready: 'STORE_UNAVAILABLE', look: health.fault, note: formatNote }];
}

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
export function reportFailedMarket(markets: Pick<MarketComponents['markets'], 'failure' | 'served'>): PartCheck {
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
export function awaitMarket(markets: Pick<MarketComponents['markets'], 'awaited'>): PartCheck {
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

const INTERVAL_MS = 5_000;

/** Checks the free space of the home at intervals. Health requests then need not wait for the disk. */
export function watchDisk(freeSpace: FreeSpace): { readonly check: PartCheck; close(): Promise<void> } {
  let fault: string | undefined;
  let freeSpaceNote = 'The first check of the volume is pending.';
  const measureFreeSpace = async () => {
    try {
      const { freeBytes, markBytes } = await freeSpace.measure();
      const formatMebibytes = (bytes: number) => Math.floor(bytes / 2 ** 20);
      freeSpaceNote = `${formatMebibytes(freeBytes)} MiB are free; ${formatMebibytes(markBytes)} MiB are needed for writes.`;
      fault = freeBytes < markBytes ? freeSpaceNote : undefined;
    } catch (failure) {
      fault = `The volume cannot be checked: ${failure instanceof Error ? failure.message : failure}`;
    }
  };
  void measureFreeSpace();
  const timer = setInterval(() => void measureFreeSpace(), INTERVAL_MS);
  timer.unref();
  return {
    check: { name: 'disk', look: () => fault, note: () => freeSpaceNote, unready: 'STORAGE_FULL' },
    async close() {
      clearInterval(timer);
    },
  };
}

/**
 * Opens the configured engine in the same way as the threads of the pool, to find out which engine runs and why others
 * do not. The returned check fails if another engine runs: results are then correct, but slower than intended.
 */
export async function checkNumerics(setting: EngineSetting, log: Logger): Promise<PartCheck> {
  const choice = await openNumericEngine(setting);
  const sentence = describeChoice(choice);
  if (choice.asAsked) log.info({ engine: choice.engine.name }, sentence);
  else log.warn({ engine: choice.engine.name, asked: setting }, sentence);
  return { name: 'numerics', look: () => (choice.asAsked ? undefined : sentence), note: () => sentence };
}
