import { findStore, removeStores } from '#domain/documents/store-of-documents.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { resolveModelFiles } from '../stored/used-models.js';
import type { BacktestPlans } from './backtest-plans.js';
import type { RunStates } from './run-states.js';
import type { ViewMaker } from './view-maker.js';

/** Sources of the inputs that views need. */
export interface NeedSources {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'help'>;
  readonly markets: Markets;
  readonly states: RunStates;
  readonly maker: ViewMaker;
  readonly plans: BacktestPlans;
  /** Called with the run whose exposures a request reads. */
  readonly onExposures: (runId: string) => void;
}

/** Parsed request about a run. */
export interface RunRequest {
  readonly run: RunDocument;
  /** Parameters of the path and the query. */
  readonly query: Readonly<Record<string, unknown>>;
  /** Parses the body of the request. @throws Refusal VALIDATION_FAILED */
  body(): unknown;
  /** Calls `help` as soon as a thread has started the view. */
  afterwards(help: () => void): void;
}

/** Function that returns the input that one need adds to a view. */
export type NeedResolver = (sources: NeedSources, request: RunRequest) => object | Promise<object>;

/** Returns the benchmark of a comparison: an index and its risk models, or an identifier of the run's store. */
export async function readCompared(
  {
    documents,
    artifacts,
    markets,
    states,
    plans,
  }: Pick<NeedSources, 'documents' | 'artifacts' | 'markets' | 'states' | 'plans'>,
  run: RunDocument,
  benchmark: string,
): Promise<ComparedWith> {
  const comparedWith = await plans.comparedWith(benchmark, async () => {
    markets.current(); // The store that was served before a restart may still be loading.
    return (await states.servedMarket(run))?.market;
  });
  // the run and the benchmark are computed on the market of the run
  findStore(comparedWith.documents, run.store_id);
  const benchmarkDocuments = { ...comparedWith, documents: removeStores(comparedWith.documents) };
  return addModels({ documents, artifacts }, benchmarkDocuments, run.store_id);
}

/** Adds the risk models that the documents of a benchmark use. @param storeId data store of the run, if it is known */
export async function addModels(
  { documents, artifacts }: Pick<NeedSources, 'documents' | 'artifacts'>,
  comparedWith: ComparedWith,
  storeId: string | undefined,
): Promise<ComparedWith> {
  return { ...comparedWith, ...(await resolveModelFiles(documents, artifacts, { ...comparedWith, storeId })) };
}
