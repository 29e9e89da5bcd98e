import type { CalendarsInUse } from '#domain/calendars/used-calendars.js';
import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import { sortFindings } from '#domain/refusals/findings.js';
import type { Jobs } from '#jobs/job-kind.js';
import { countTableRows } from '#market/content/content.js';
import type { RefreshReport } from '#market/content/refresh-report.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { prepareServedMarket } from '#market/serving/served-markets.js';
import type { DataVersions } from './data-versions.js';
import { selectReusableFiles } from './refreshed-fields.js';

/** Accepted content of a source. */
export interface SettledSource {
  readonly summary: ContentSummary;
  readonly served: ServedMarket;
  /** Report of the accepted and the discarded rows; null if all rows were accepted unchanged. */
  readonly report: RefreshReport | null;
}

export interface SettlingDependencies {
  readonly jobs: Pick<Jobs, 'query'>;
  readonly versions: Pick<DataVersions, 'last'>;
  readonly calendarsInUse: CalendarsInUse;
  readonly timestamp: () => string;
}

type SettledStore = Pick<DatasetDocument, 'store_id' | 'kind' | 'content_hash' | 'changed_prices'>;

/**
 * Applies the rules of a refresh to a source that was read again. A security with a changed history keeps its served
 * data. If the served content is lost, all rows of the source are accepted.
 */
export async function settleSource(
  { store_id: datasetId, kind, content_hash: hash, changed_prices: changedPrices = [] }: SettledStore,
  read: Pick<SettledSource, 'summary' | 'served'>,
  { jobs, versions, calendarsInUse, timestamp }: SettlingDependencies,
  signal: AbortSignal,
): Promise<SettledSource> {
  const { summary, served } = read;
  const isSameContent = hash === null || hash === summary.contentHash;
  const servedMarket = isSameContent || isManaged(kind) ? undefined : await versions.last(served);
  if (servedMarket === undefined) return { ...read, report: null };
  const options = {
    until: null,
    full: false,
    isWhole: true,
    ...(changedPrices.length > 0 && { accepted: changedPrices }),
    unchangedTables: [],
    dividendErrors: summary.dividendErrors ?? [],
  };
  const calendars = await calendarsInUse(datasetId, true);
  const input = { held: servedMarket.handle, fresh: served.handle, options, calendars };
  const { handle, report, identifiers, warnings } = await jobs.query('refresh-market', input, signal);
  const market = await prepareServedMarket(handle, timestamp(), selectReusableFiles(served.files, report));
  return {
    summary: {
      ...summary,
      contentHash: handle.contentHash,
      identifiers,
      start: market.market.dates[0]!,
      end: market.market.dates.at(-1)!,
      rows: countTableRows(market.market),
      warnings: sortFindings([...report.findings, ...(summary.readWarnings ?? []), ...warnings]),
    },
    served: market,
    report,
  };
}
