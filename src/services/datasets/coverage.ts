import type { CoverageResponse } from '#contract/coverage.js';
import { type Day, formatDay } from '#domain/time/days.js';
import type { DatasetKind } from '#domain/documents/dataset-document.js';
import { getLookup } from '#market/serving/market-lookup.js';
import type { ServedMarket } from '#market/serving/markets.js';

/** Metadata of the served store. */
export interface ServedDataset {
  readonly kind: DatasetKind;
  readonly sizeBytes: number | null;
  /** Files of the store, labelled by dataset, such as `market` or `market/2024.parquet`. */
  readonly files: readonly { readonly label: string; readonly bytes: number }[];
}

/** Age in seconds after which daily data is stale: four days, because a long weekend has no data. */
const MARKET_STALE_SECONDS = 345_600;

const SOURCES: Record<DatasetKind, string> = {
  folder: 'local',
  database: 'database',
  imported: 'imported',
  synthetic: 'synthetic',
};

/** Describes each table of the served store. @param now time in ms since 1970 */
export function describeCoverage(
  current: ServedMarket | undefined,
  servedDataset: ServedDataset | undefined,
  now: number,
): CoverageResponse {
  if (current === undefined) {
    return {
      datasets: [createUnconfigured('market'), createUnconfigured('reference')],
      identifiers_union: 0,
      cache_size_bytes: null,
    };
  }
  const { market } = current;
  const sharedFields = {
    cache_age: Math.max(0, (now - Date.parse(current.loadedAt)) / 1000),
    last_refreshed: current.loadedAt,
    source: servedDataset === undefined ? null : SOURCES[servedDataset.kind],
  };
  const validFrom = [...market.reference.rows.values()].flatMap((rows) => rows.flatMap((row) => row.validFrom ?? []));
  return {
    datasets: [
      {
        dataset: 'market',
        configured: true,
        identifiers: market.identifiers.length,
        start: formatDay(market.dates[0]!),
        end: formatDay(market.dates.at(-1)!),
        field_count: market.fields.size,
        frequency: 'daily',
        stale_after_seconds: MARKET_STALE_SECONDS,
        ...sharedFields,
        cache_size_bytes: findBytes(servedDataset, 'market'),
      },
      market.reference.rows.size === 0
        ? createUnconfigured('reference')
        : {
            dataset: 'reference',
            configured: true,
            identifiers: market.reference.rows.size,
            ...createSpan(validFrom),
            field_count: market.reference.columns.length,
            frequency: 'static',
            stale_after_seconds: null,
            ...sharedFields,
            cache_size_bytes: findBytes(servedDataset, 'reference'),
          },
    ],
    identifiers_union: getLookup(market).allIdentifiers.length,
    cache_size_bytes: servedDataset?.sizeBytes ?? null,
  };
}

/** Returns the size of a dataset on disk. If the datasets are not separate files, returns the size of the store. */
function findBytes(store: ServedDataset | undefined, dataset: 'market' | 'reference'): number | null {
  const tableFiles = store?.files.filter(({ label }) => label === dataset || label.startsWith(`${dataset}/`)) ?? [];
  return tableFiles.length === 0 ? (store?.sizeBytes ?? null) : tableFiles.reduce((sum, { bytes }) => sum + bytes, 0);
}

function createUnconfigured(dataset: 'market' | 'reference'): CoverageResponse['datasets'][number] {
  return {
    dataset,
    configured: false,
    identifiers: 0,
    start: null,
    end: null,
    field_count: 0,
    frequency: dataset === 'market' ? 'daily' : 'static',
    stale_after_seconds: dataset === 'market' ? MARKET_STALE_SECONDS : null,
    cache_age: null,
    last_refreshed: null,
    cache_size_bytes: null,
    source: null,
  };
}

function createSpan(days: readonly Day[]): { readonly start: string | null; readonly end: string | null } {
  if (days.length === 0) return { start: null, end: null };
  const [start, end] = days.reduce(
    ([low, high], day) => [Math.min(low, day), Math.max(high, day)],
    [Infinity, -Infinity],
  );
  return { start: formatDay(start), end: formatDay(end) };
}
