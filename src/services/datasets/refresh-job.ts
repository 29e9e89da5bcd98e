import { parseValidDay, formatDay, type Day } from '#domain/time/days.js';
import { sortFindings, type Finding } from '#domain/refusals/findings.js';
import { DatasetDocument } from '#domain/documents/dataset-document.js';
import { findPendingPrices } from '#domain/documents/price-override.js';
import type { Attempt, Completion } from '#jobs/job-kind.js';
import { type TableKind, countRowsByTable } from '#market/tables/table-kinds.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { RefreshMarketOutput } from '#jobs/tasks/markets.js';
import type { RefreshReport } from '#market/content/refresh-report.js';
import { prepareServedAgain, prepareServedMarket } from '#market/serving/served-markets.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { requireDataset } from '../stored/dataset-documents.js';
import type { Addition } from './folder-addition.js';
import { createLoadedFields, recordFailure } from './loading.js';
import type { SourceTerms } from './source-terms.js';
import { isGap } from './partial-dates.js';
import { selectReusableFiles, isOtherTable, createRefreshFields } from './refreshed-fields.js';
import { assertAccepted, findNewWarnings } from './rejected-refresh.js';
import { activateDataset, replaceDataset } from './activate.js';
import { addStartImport, isChange } from './served-content.js';
import { findUnpublishedDates } from './unpublished-dates.js';
import { createExtension } from './extend-synthetic.js';
import type { RefreshPayload } from '#domain/jobs/payloads.js';
import type { DatasetJobsDependencies } from './job-terms.js';

/** Creates the job that adds later sessions to a store, from its source or for a synthetic market. */
export function createRefresh(dependencies: DatasetJobsDependencies) {
  const { documents, markets, stores, activations, loading, calendarsInUse, versions, timestamp } = dependencies;
  const extendSynthetic = createExtension(dependencies);

  async function runRefresh(payload: RefreshPayload, attempt: Attempt): Promise<Completion> {
    await markets.settled();
    const { document } = await requireDataset(documents, payload.store_id);
    return document.kind === 'synthetic'
      ? extendSynthetic(document, payload, attempt)
      : refreshFromSource(document, payload, attempt);
  }

  async function refreshFromSource(
    document: DatasetDocument,
    { store_id: datasetId, until, full, dry_run: isTrial, fail_on: failOn, day }: RefreshPayload,
    attempt: Attempt,
  ): Promise<Completion> {
    const servedMarket = await stores.of(datasetId);
    const lossFindings = await findLoss(documents, document, servedMarket);
    const freshData = await readFreshData({ ...document, location: document.source }, servedMarket, full, attempt);
    const lastDay = until === null ? null : parseValidDay(until);
    const { changed_prices: changedPrices = [] } = document;
    const refreshOutput = await attempt.compute(
      'refresh-market',
      {
        held: isTrial ? removeSpareMemory(servedMarket.handle) : servedMarket.handle,
        fresh: freshData.handle,
        options: {
          until: lastDay,
          full,
          isWhole: freshData.isWhole,
          ...(changedPrices.length > 0 && { accepted: changedPrices }),
          unchangedTables: freshData.unchangedTables,
          dividendErrors: freshData.summary.dividendErrors ?? [],
          unpublished: await findUnpublishedDates(documents, datasetId, day),
        },
        calendars: await calendarsInUse(datasetId),
      },
      0.3,
    );
    const { handle, isSameTables, report, warnings, newWarnings } = refreshOutput;
    const { readWarnings = [] } = freshData.summary;
    const causedWarnings = mergeFindings(lossFindings, [...findNewWarnings(readWarnings, document), ...newWarnings]);
    assertAccepted([...report.findings, ...causedWarnings], failOn, lossFindings.length > 0);
    const fullReport = createReport(refreshOutput, causedWarnings, document, servedMarket);
    const value = { store_id: datasetId, dry_run: isTrial, ...fullReport };
    if (isTrial) return { result: { value } };
    const currentTimestamp = timestamp();
    const files = selectReusableFiles(freshData.files, report).filter((file) => lastDay === null || isOtherTable(file));
    const refreshedMarket = isSameTables
      ? prepareServedAgain(handle, servedMarket, currentTimestamp, files)
      : await prepareServedMarket(handle, currentTimestamp, files);
    const changes: Partial<DatasetDocument> = {
      ...createLoadedFields(
        { ...freshData.summary, warnings: sortFindings([...report.findings, ...readWarnings, ...warnings]) },
        currentTimestamp,
      ),
      last_refreshed_at: currentTimestamp,
      taken_at_start: null,
      location: document.source,
      ...createRefreshFields(refreshOutput),
      rows:
        full && lastDay === null
          ? { ...freshData.summary.rows }
          : countRowsAfter(document, freshData, report, refreshedMarket),
    };
    const version = await versions.prepare(refreshedMarket, { source: 'refresh', kind: document.kind });
    await activations.prepare(refreshedMarket);
    return {
      result: { value },
      async effect(tx) {
        const { document: storedDocument } = await requireDataset(tx, datasetId);
        const write = storedDocument.active ? activateDataset : replaceDataset;
        const after = { ...storedDocument, ...changes, ...findPendingPrices(storedDocument, document) };
        await write(tx, { document: after, served: refreshedMarket, activations, version });
      },
    };
  }

  /** Returns the data to refresh: the whole source, or its later days. */
  async function readFreshData(
    source: SourceTerms & Pick<DatasetDocument, 'changed_prices'>,
    servedMarket: ServedMarket,
    isFull: boolean,
    attempt: Attempt,
  ): Promise<FreshData> {
    const options = {
      onProgress: (fraction: number, message: string) => attempt.report(0.7 * fraction, message),
      signal: attempt.signal,
    };
    const after = servedMarket.market.dates.at(-1);
    const isChanged = (source.changed_prices ?? []).length > 0;
    if (isFull || isChanged || after === undefined) {
      const loadOutcome = await loading.read(source, { serve: true, ...options });
      if (loadOutcome.kind === 'refused') throw recordFailure(loadOutcome.findings, 'source');
      return {
        summary: loadOutcome.summary,
        handle: loadOutcome.served!.handle,
        isWhole: true,
        unchangedTables: [],
        files: loadOutcome.served!.files,
      };
    }
    const addition = await loading.readAddition(source, { lastDay: after, knownFiles: servedMarket.files, ...options });
    if (addition.kind === 'refused') throw recordFailure(addition.findings, 'source');
    return addition;
  }

  return runRefresh;
}

/** Number of dates before a refresh for which gaps are reported again. A later delivery may fill these gaps. */
const RECENT_DATES = 5;

/**
 * Returns the report of a refresh. Adds the changes that earlier starts accepted, the data warnings that the refresh
 * caused, and the partial dates and gaps among the last dates.
 */
function createReport(
  { report, warnings }: RefreshMarketOutput,
  causedWarnings: readonly Finding[],
  { taken_at_start: startImport }: DatasetDocument,
  { market: { dates } }: ServedMarket,
): RefreshReport {
  const recentFrom = dates.at(-Math.min(RECENT_DATES + (startImport?.dates_added ?? 0), dates.length))!;
  const refreshReport = addStartImport(report, startImport);
  const recentDates = selectRecentPartialDates(warnings, recentFrom);
  return {
    ...refreshReport,
    findings: sortFindings([...refreshReport.findings, ...mergeFindings(causedWarnings, recentDates)]),
  };
}

/** Returns findings followed by those of others that have another code or path. */
const mergeFindings = (findings: readonly Finding[], others: readonly Finding[]): readonly Finding[] => [
  ...findings,
  ...others.filter(({ code, path }) => !findings.some((each) => each.code === code && each.path === path)),
];

/**
 * Returns the findings of a store whose stored content was lost, so that its source was read in its place: how the
 * source differs, and the data warnings that the stored content did not have. Returns none if the content is available.
 */
async function findLoss(
  documents: DatasetJobsDependencies['documents'],
  stored: DatasetDocument,
  { identity }: ServedMarket,
): Promise<readonly Finding[]> {
  if (stored.content_hash === null || identity.contentHash === stored.content_hash) return [];
  const { document } = await requireDataset(documents, stored.store_id);
  const readFindings = document.findings as readonly Finding[]; // this engine wrote the findings
  const newFindings = new Set(findNewWarnings(readFindings, stored));
  return readFindings.filter((finding) => isChange(finding.code) || newFindings.has(finding));
}

/** Returns the warnings about partial dates and gaps on or after a day. */
const selectRecentPartialDates = (warnings: readonly Finding[], from: Day): Finding[] =>
  warnings.filter(
    (warning) => (warning.code === 'PARTIAL_DATE' || isGap(warning)) && warning.path >= `market[${formatDay(from)}]`,
  );

/** Returns a market without the spare memory after its last day. The next refresh can then use that memory. */
function removeSpareMemory(handle: MarketHandle): MarketHandle {
  const { taken: _, ...rest } = handle;
  return rest;
}

type FreshData = Omit<Addition, 'kind'>;

/** Returns the number of rows of each dataset after a refresh. A table that was not read keeps its number. */
function countRowsAfter(
  { rows }: DatasetDocument,
  { summary, unchangedTables }: FreshData,
  { datasets, rejected_total: rejectedCount }: RefreshReport,
  { market: { actions } }: ServedMarket,
): DatasetDocument['rows'] {
  const countEarlierRows = (table: TableKind) => rows?.[table] ?? 0;
  const countRows = (table: TableKind) => {
    if (unchangedTables.includes(table)) return countEarlierRows(table);
    return rejectedCount > 0 && table === 'corporate_actions' ? actions.length : (summary.rows[table] ?? 0);
  };
  return countRowsByTable((table) =>
    table === 'market'
      ? countEarlierRows('market') + datasets.market.added - datasets.market.removed
      : countRows(table),
  );
}
