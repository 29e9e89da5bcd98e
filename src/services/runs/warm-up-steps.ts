import { isRuleDocument } from '#domain/documents/index-document.js';
import type { Lane, ComputePool } from '#jobs/compute-pool.js';
import type { TaskName } from '#jobs/tasks.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { resolveReached } from '../indices/reached-documents.js';
import { createRequestStep, THREAD_PREFIX, type WarmUpRequest } from './warm-up-requests.js';
import { createWarmUpExposures } from './warm-up-exposures.js';
import { createWarmUpRuns } from './warm-up-runs.js';
import { prepareViews } from './warm-up-views.js';
import { createPracticePlan } from './practice-plan.js';
import { listEarlierFiles } from '../stored/run-documents.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';

/**
 * Maximum number of cells (dates x securities) of a market for which panels are prepared. A panel has 160 MB and may
 * never be used.
 */
const CELLS_MAX = 20_000_000;

/**
 * Tasks whose code a thread of a lane loads. The other tasks are rare, or take longer than it takes to load their code.
 */
const CODE_TASKS: Readonly<Record<Lane, readonly TaskName[]>> = {
  light: ['view-run', 'preview', 'explain', 'whatIf', 'run-levels', 'write-run-text'],
  heavy: ['backtest', 'hash-files'],
};

/**
 * Further practice turns of a thread. Each is a run, a risk model and an optimisation; together they take three
 * seconds. After only four turns, V8 still compiles during the first optimisation, which then takes twice as long as
 * later ones.
 */
const PRACTICE_TURNS = Array.from({ length: 11 }, (_, turn) => `${THREAD_PREFIX}run ${turn + 2}`);

/** Steps that warm up a market, the most useful first. */
export interface WarmUpSteps {
  /** Returns the steps for a market. Requests about a run use the latest stored run. */
  on(servedMarket: ServedMarket): AsyncIterable<WarmUpRequest>;
  /** Records that a run was stored. */
  stored(runId: string): void;
  /** Records that a client read the exposures of a run. @returns true if the previous request was about another run */
  noteRequest(runId: string): boolean;
}

export interface StepsDependencies {
  readonly documents: Pick<DocumentStore, 'get' | 'ids'>;
  readonly artifacts: Pick<ArtifactStore, 'file' | 'read'>;
  readonly pool: Pick<ComputePool, 'run'>;
  /** True for a single service. If there are several, each would prepare the same runs. */
  readonly isAlone: boolean;
  /** True if this process answers requests. A worker process runs only heavy tasks. */
  readonly answers: boolean;
}

export function createWarmUpSteps({ documents, artifacts, pool, isAlone, answers }: StepsDependencies): WarmUpSteps {
  const runs = createWarmUpRuns(documents);
  const query = createRequestStep(pool);
  const { exposuresOn, stylesOn } = createWarmUpExposures({ documents, artifacts, runs, query });
  /** Run whose exposures were requested last. */
  let lastRunId: string | undefined;

  async function* listSteps(servedMarket: ServedMarket): AsyncGenerator<WarmUpRequest> {
    const { handle, market } = servedMarket;
    if (!answers) return yield createCodeRequest('heavy');
    yield createCodeRequest('light');
    yield query('market', 'warm-up', () => ({ names: [], market: handle, plan: null }));
    yield createCodeRequest('heavy');
    if (market.dates.length * market.identifiers.length > CELLS_MAX) return;
    const createPracticeStep = createPractice(servedMarket);
    yield createPracticeStep('run'); // The first turn saves more time of a job than all later turns, and delays views by at most a second.
    yield* listQuestions(servedMarket);
    for (const key of PRACTICE_TURNS) yield createPracticeStep(key);
    yield* exposuresOn(servedMarket);
    const askedRun = lastRunId === undefined ? undefined : await runs.find(lastRunId);
    // If there are several services, only the service that received the request prepares the run.
    yield* stylesOn(servedMarket, isAlone ? [askedRun, await runs.readLatest()] : [askedRun]);
  }

  /**
   * Creates practice steps. Their results are discarded. There is one step per new market, and as many steps per thread
   * as its code needs to become fast.
   */
  function createPractice({ handle, market }: ServedMarket): (key: string) => WarmUpRequest {
    const findInput = async () => {
      const run = await runs.readLatest();
      const plan = await createPracticePlan(documents, await runs.findSubjectIndex(run), market);
      return { names: [], market: handle, plan, storedPrices: run ? listEarlierFiles(run) : [] };
    };
    let input: ReturnType<typeof findInput> | undefined;
    return (key) => query(key, 'warm-up', () => (input ??= findInput()), 'heavy');
  }

  async function* listQuestions(servedMarket: ServedMarket): AsyncGenerator<WarmUpRequest> {
    const run = await runs.readLatest();
    if (run) yield* prepareViews(run, servedMarket, { documents, artifacts, runs, query });
    const index = await runs.findSubjectIndex(run);
    if (!index || !isRuleDocument(index)) return; // A derived index needs an optimisation.
    yield query('preview', 'preview', async () => ({
      market: servedMarket.handle,
      documents: await resolveReached(documents, index),
      indexId: index.id,
      asOf: run?.end ?? index.base_date,
    }));
  }

  const createCodeRequest = (lane: Lane): WarmUpRequest =>
    query(
      `${THREAD_PREFIX}code ${lane}`,
      'warm-up',
      () => ({ names: CODE_TASKS[lane], market: null, plan: null }),
      lane,
    );

  return {
    on: listSteps,
    stored: runs.stored,
    noteRequest(runId) {
      if (lastRunId === runId) return false;
      lastRunId = runId;
      return true;
    },
  };
}
