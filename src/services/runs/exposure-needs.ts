import type { RunDocument } from '#domain/documents/run-document.js';
import { SINGLE_GROUPS } from '#domain/market/market-groups.js';
import { assertNoErrors } from '#domain/refusals/refusal.js';
import type { NeededExposures } from '#jobs/tasks/views.js';
import { findRun, isWholeHistory } from '../stored/run-documents.js';
import { assertReferenceColumn } from './reference-column.js';
import { readFields } from './run-fields.js';
import { findUniverse } from './run-universe.js';
import { readCompared, type RunRequest, type NeedSources } from './need.js';

/** Default grouping column. If the market does not have it, all securities form one group. */
const DEFAULT_GROUPS = 'SECTOR';

interface ExposuresQuery {
  readonly by?: string | undefined;
  readonly fields: readonly string[];
  readonly benchmark?: string | undefined;
}

/**
 * Returns what a view of exposures needs: groups, datapoints, universe and benchmark.
 * @throws Refusal VALIDATION_FAILED, BENCHMARK_NOT_FOUND; STORE_MISMATCH, NO_DATA_SOURCE unless securities are their
 * own groups and the request needs no other data
 */
export async function resolveExposures(sources: NeedSources, { run, query }: RunRequest): Promise<NeededExposures> {
  const { states, onExposures } = sources;
  const { by = DEFAULT_GROUPS, fields: requestedFields, benchmark: other } = query as unknown as ExposuresQuery;
  const readsMarket = by !== SINGLE_GROUPS || requestedFields.length > 0 || other !== undefined;
  const servedMarket = readsMarket ? await states.requireMarket(run) : null;
  const isNamed = query.by !== undefined && by !== SINGLE_GROUPS;
  if (servedMarket !== null && isNamed) assertReferenceColumn(servedMarket.market, by);
  const fields = servedMarket === null ? [] : readFields(requestedFields, servedMarket.market);
  if (query.table === 'fields') assertHasFields(fields);
  const benchmark = other === undefined ? null : await readCompared(sources, run, other);
  onExposures(run.run_id);
  return {
    by,
    fields,
    universe: await findUniverse(sources, run, fields),
    benchmark,
    benchmarkColumns: benchmark === null ? null : await readWholeColumns(sources, run, benchmark.indexId),
    market: servedMarket && servedMarket.handle,
  };
}

/** Checks that a table of datapoints has at least one datapoint. @throws Refusal VALIDATION_FAILED */
function assertHasFields(fields: readonly string[]): void {
  if (fields.length > 0) return;
  const message = 'fields is required by the table fields: datapoints as DIVIDEND_YIELD,BETA.';
  assertNoErrors('query', [{ severity: 'error', code: 'REQUIRED', path: 'fields', message }]);
}

/**
 * Returns the columns of the latest run of an index if the run is up to date and covers the whole history; otherwise
 * null.
 */
async function readWholeColumns(
  { documents, states, maker }: NeedSources,
  runDocument: RunDocument,
  indexId: string,
): Promise<string | null> {
  const run = await findRun(documents, indexId);
  if (run === undefined || run.index_id !== indexId || run.store_id !== runDocument.store_id) return null;
  return isWholeHistory(run) && (await states.findStaleState(run)) === null ? maker.readColumns(run) : null;
}
