import { formatDay, type Day } from '#domain/days.js';
import type { StoreDocument } from '#domain/documents/store-document.js';
import type { Finding } from '#domain/findings.js';
import { refuseWithFindings, type Refusal } from '#domain/refusal.js';
import type { DatabasePlaces } from '#market/databases/database-place.js';
import { folderFiles } from '#market/folder.js';
import type { Locations } from '#market/locations.js';
import { runMarketTask, type MarketTaskOptions, type MarketTaskResult } from '#market/market-process.js';
import type { ContentSummary } from '#market/market-tasks.js';
import type { ServedMarket } from '#market/markets.js';
import { createProblems } from '#market/problems.js';
import { servedMarket } from '#market/served-markets.js';

/** What a store's place is read as. */
export type Source = Pick<StoreDocument, 'store_id' | 'kind' | 'location' | 'tables' | 'adjustment'>;

export interface LoadOptions {
  /** Load into shared memory, or only read and check. */
  readonly serve: boolean;
  /** Only bars of later days. */
  readonly after?: Day | null;
  readonly onProgress?: MarketTaskOptions['onProgress'];
  readonly signal?: AbortSignal;
}

export type Loaded =
  | { readonly kind: 'loaded'; readonly summary: ContentSummary; readonly served: ServedMarket | undefined }
  | { readonly kind: 'refused'; readonly findings: readonly Finding[] };

export interface StoreLoadingDependencies {
  readonly locations: Locations;
  readonly databases: DatabasePlaces;
  readonly timestamp: () => string;
}

export interface StoreLoading {
  /** Reads a store from its place. @throws Refusal STORE_READ_FAILED, NOT_SUPPORTED */
  read(source: Source, options: LoadOptions): Promise<Loaded>;
}

export function createStoreLoading({ locations, databases, timestamp }: StoreLoadingDependencies): StoreLoading {
  async function folderOf({ location }: Source): Promise<{ readonly path: string } | { readonly findings: readonly Finding[] }> {
    const resolved = await locations.resolve(location ?? '', 'folder');
    return 'path' in resolved ? resolved : { findings: [{ severity: 'error', ...resolved.problem }] };
  }

  async function readFolder(source: Source, after: Day | null, options: MarketTaskOptions): Promise<MarketTaskResult> {
    const folder = await folderOf(source);
    if ('findings' in folder) return { kind: 'refused', findings: folder.findings };
    const problems = createProblems();
    const files = await folderFiles(folder.path, source.tables, locations, problems);
    if (problems.errors > 0) return { kind: 'refused', findings: problems.findings() };
    return runMarketTask('readFiles', { files, after }, options);
  }

  async function readDatabase({ location, tables }: Source, after: Day | null, options: MarketTaskOptions): Promise<MarketTaskResult> {
    const resolved = await databases.resolve(location ?? '');
    if ('problem' in resolved) return { kind: 'refused', findings: [{ severity: 'error', ...resolved.problem }] };
    return runMarketTask('readDatabase', { place: resolved.place, tables, after }, options);
  }

  return {
    async read(source, { serve, after = null, onProgress, signal }) {
      const options: MarketTaskOptions = {
        load: serve ? { storeId: source.store_id, adjustment: source.adjustment } : null,
        ...(onProgress === undefined ? {} : { onProgress }),
        ...(signal === undefined ? {} : { signal }),
      };
      const result = source.kind === 'database' ? await readDatabase(source, after, options) : await readFolder(source, after, options);
      if (result.kind === 'refused') return result;
      return { kind: 'loaded', summary: result.summary, served: result.handle === null ? undefined : await servedMarket(result.handle, timestamp()) };
    },
  };
}

/** What a load changes in a store's document. */
export function loadedFields(summary: ContentSummary, at: string): Partial<StoreDocument> {
  return {
    last_loaded_at: at,
    identifiers: summary.identifiers,
    start: summary.start === null ? null : formatDay(summary.start),
    end: summary.end === null ? null : formatDay(summary.end),
    size_bytes: summary.bytes,
    content_hash: summary.contentHash,
    rows: { ...summary.rows },
    files: summary.files.map((file) => ({ ...file })),
    findings: summary.warnings.map((finding) => ({ ...finding, accepted: finding.accepted == null ? null : [...finding.accepted] })),
    error: null,
  };
}

/** The failure of a job whose data was refused. */
export function readFailed(findings: readonly Finding[]): Refusal {
  return refuseWithFindings('data store', findings, 'STORE_READ_FAILED');
}
