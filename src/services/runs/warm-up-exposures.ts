import { createLatestRequest } from '#domain/datapoints/field-request.js';
import { resolveName } from '#domain/datapoints/resolution.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { RunViewInput } from '#jobs/tasks/views.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { resolveReached } from '../indices/reached-documents.js';
import { resolveColumnsFile, isWholeHistory } from '../stored/run-documents.js';
import { findUniverse } from './run-universe.js';
import { listStyleQuestions } from './style-questions.js';
import { EXPOSURES, findGroupColumn, createRange, type RequestStep, type WarmUpRequest } from './warm-up-requests.js';
import type { WarmUpRuns } from './warm-up-runs.js';

/** Datapoints that are each prepared with one request: size and yield, which clients read for every index. */
const READY_FIELDS = ['DIVIDEND_YIELD', 'MARKET_CAP'];

/** Steps that prepare exposures of stored runs. */
export interface WarmUpExposures {
  exposuresOn(servedMarket: ServedMarket): AsyncIterable<WarmUpRequest>;
  stylesOn(
    servedMarket: ServedMarket,
    preparedRuns: readonly (RunDocument | undefined)[],
  ): AsyncIterable<WarmUpRequest>;
}

interface WarmUpExposuresDependencies {
  readonly documents: Pick<DocumentStore, 'get' | 'ids'>;
  readonly artifacts: Pick<ArtifactStore, 'file' | 'read'>;
  readonly runs: WarmUpRuns;
  readonly query: RequestStep;
}

export function createWarmUpExposures({
  documents,
  artifacts,
  runs,
  query,
}: WarmUpExposuresDependencies): WarmUpExposures {
  /** Prepares other datapoints of some runs. */
  async function* listStyleRequests(
    { handle, market }: ServedMarket,
    preparedRuns: readonly (RunDocument | undefined)[],
  ): AsyncGenerator<WarmUpRequest> {
    const by = findGroupColumn(market);
    for (const run of preparedRuns) {
      if (run?.store_id !== handle.datasetId) continue;
      const { name } = run.artifacts.columns;
      for (const { field, start, end } of listStyleQuestions(market, run, READY_FIELDS))
        yield createExposureRequest(`${name} ${field} ${start ?? ''} ${end ?? ''}`, async () => {
          const columns = await resolveColumnsFile(artifacts, run);
          const universe = await findUniverse({ documents, artifacts }, run, [field]);
          return { ...EXPOSURES, universe, columns, by, market: handle, ...createRange(start, end), fields: [field] };
        });
    }
  }

  /**
   * Prepares exposure figures that do not depend on a window, for the first request about a run. If the run's benchmark
   * has a run over the whole history, figures relative to it are prepared as well.
   */
  async function* listExposureRequests({ handle, market }: ServedMarket): AsyncGenerator<WarmUpRequest> {
    const by = findGroupColumn(market);
    const fields = READY_FIELDS.filter((name) => !('missing' in resolveName(market, createLatestRequest(name))));
    for (const run of await runs.readAll()) {
      if (run.store_id !== handle.datasetId) continue;
      const { name } = run.artifacts.columns;
      for (const field of fields)
        yield createExposureRequest(`${name} ${field}`, async () => {
          const columns = await resolveColumnsFile(artifacts, run);
          const universe = await findUniverse({ documents, artifacts }, run, [field]);
          return { ...EXPOSURES, universe, columns, by, market: handle, fields: [field] };
        });
      const other = await runs.findBenchmark(run);
      const comparedRun = other && (await runs.find(other.id));
      if (!comparedRun || !isWholeHistory(comparedRun)) continue;
      yield createExposureRequest(`${name} relative to ${comparedRun.artifacts.columns.name}`, async () => {
        const columns = await resolveColumnsFile(artifacts, run);
        const benchmark = { indexId: other.id, documents: await resolveReached(documents, other) };
        const benchmarkTerms = { benchmark, benchmarkColumns: await resolveColumnsFile(artifacts, comparedRun) };
        const universe = await findUniverse({ documents, artifacts }, run, fields);
        return { ...EXPOSURES, universe, ...benchmarkTerms, columns, by, market: handle, fields };
      });
    }
  }

  /** Creates a request about exposures. If it is interrupted, it continues at the same place. */
  const createExposureRequest = (key: string, input: () => Promise<RunViewInput>): WarmUpRequest =>
    query(`exposures ${key}`, 'view-run', input);

  return { exposuresOn: listExposureRequests, stylesOn: listStyleRequests };
}
