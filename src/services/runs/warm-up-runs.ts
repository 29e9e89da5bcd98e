import { BacktestFields } from '#domain/documents/backtest-fields.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { DocumentStore } from '#store/port.js';
import { findRun } from '../stored/run-documents.js';
import { findIndex } from '../stored/stored-indices.js';

/** Maximum number of runs that are searched for the latest run after a start of the service. */
const RUNS_READ_MAX = 200;

/** Maximum number of latest runs whose exposures are prepared. A run takes one or two megabytes of a thread's cache. */
const READY_RUNS_MAX = 8;

/** Runs that a warm-up prepares, and the indices of these runs. */
export interface WarmUpRuns {
  /** Returns the latest stored run that is known. */
  readLatest(): Promise<RunDocument | undefined>;
  /** Reads the latest stored runs, the latest first. */
  readAll(): Promise<RunDocument[]>;
  find(runId: string): Promise<RunDocument | undefined>;
  /** Returns the index of a run. If there is no such index, returns any stored index. */
  findSubjectIndex(run: RunDocument | undefined): Promise<IndexDocument | undefined>;
  /** Returns the index to which a run was compared; undefined if it was deleted. */
  findBenchmark(run: RunDocument): Promise<IndexDocument | undefined>;
  /** Returns a key for the returns of a run's securities. Runs with the same key share the returns. */
  returnsKey(run: RunDocument): Promise<string>;
  /** Records that a run was stored. */
  stored(runId: string): void;
}

export function createWarmUpRuns(documents: Pick<DocumentStore, 'get' | 'ids'>): WarmUpRuns {
  /** Ids of stored runs, latest first, and the runs that the first search after the start found. */
  let storedIds: readonly string[] = [];
  let indexIds: readonly string[] | undefined;

  const findWarmRun = (id: string): Promise<RunDocument | undefined> => findRun(documents, id);

  async function findFirstIndex(): Promise<IndexDocument | undefined> {
    const [id] = await documents.ids('index');
    return id === undefined ? undefined : await findIndex(documents, id);
  }

  async function readLatestRuns(): Promise<RunDocument[]> {
    indexIds ??= await readLatestIds();
    const runs = await Promise.all([...new Set([...storedIds, ...indexIds])].slice(0, READY_RUNS_MAX).map(findWarmRun));
    return runs.filter((run) => run !== undefined);
  }

  async function readLatestIds(): Promise<string[]> {
    const ids = (await documents.ids('run')).slice(0, RUNS_READ_MAX);
    const runs = (await Promise.all(ids.map(findWarmRun))).filter((run) => run !== undefined);
    return runs.toSorted((a, b) => ((a.run_at ?? '') < (b.run_at ?? '') ? 1 : -1)).map(({ run_id }) => run_id);
  }

  return {
    readLatest: async () => (await readLatestRuns())[0],
    readAll: readLatestRuns,
    find: findWarmRun,
    findSubjectIndex: async (run) => (run && (await findIndex(documents, run.index_id))) ?? (await findFirstIndex()),
    async findBenchmark({ request }) {
      const benchmark = BacktestFields.safeParse(request).data?.benchmark;
      return benchmark?.kind === 'index' ? await findIndex(documents, benchmark.id) : undefined;
    },
    async returnsKey({ run_id: runId, index_id: indexId }) {
      const document = await findIndex(documents, indexId);
      return document?.pipeline
        ? JSON.stringify([document.calendar, document.currency, document.pipeline.treatment])
        : runId;
    },
    stored(runId) {
      storedIds = [...new Set([runId, ...storedIds])].slice(0, READY_RUNS_MAX);
    },
  };
}
