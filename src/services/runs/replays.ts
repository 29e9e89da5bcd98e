import type { ReplayPayload } from '#domain/jobs/payloads.js';
import { createJobKind, type JobKind, type Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { createModelReferences } from '../stored/used-models.js';
import { assertNotDeleted } from '../shared/jobs-about.js';
import { getColumns, createPayload, createProvenance, requireRun, type RequestedRun } from '../stored/run-documents.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import type { RunStates } from './run-states.js';
import { addDefaultsToPlan } from '#domain/checks/plan-defaults.js';
import { readStoredPlan } from '../stored/stored-plans.js';

export interface ReplayJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly markets: Markets;
  readonly states: Pick<RunStates, 'findStaleState'>;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
}

export interface Replays {
  /**
   * Checks that a run exists. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE; `replay` throws
   * these too
   */
  assertRun(name: RequestedRun): Promise<void>;
  /** Queues a replay. @throws Refusal NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED */
  replay(name: RequestedRun, origin: Origin | null): Promise<JobStatus>;
}

/** Creates the kind of job that repeats a stored run and compares the results. */
export function createReplayJob({
  documents,
  artifacts,
  markets,
  states,
  dataVersions,
}: ReplayJobDependencies): JobKind<ReplayPayload> {
  return createJobKind('replay', async ({ run_id: runId, which_run: id, engine_version: engineVersion }, attempt) => {
    await markets.settled();
    const { identity } = markets.require();
    await assertNotDeleted(documents, runId, 'replay');
    const run = await requireRun(documents, { subject: runId, id });
    const plan = addDefaultsToPlan(await readStoredPlan(artifacts, run));
    const { models = {} } = run.artifacts;
    const isAsKnown = plan.request.as_known !== undefined;
    const knownTerms = isAsKnown
      ? { known: await dataVersions.before((await dataVersions.at(undefined)).version) }
      : {};
    const { view } = await attempt.compute('replay', {
      market: identity,
      plan,
      ...createModelReferences(plan.models, models),
      ...knownTerms,
      engineVersion,
      definitionChanged: (await states.findStaleState(run))?.definition ?? false,
      stored: { ...createProvenance(run), runAt: run.run_at },
      columns: getColumns(run),
      outputs: attempt.outputs(['view']),
    });
    return { result: { artifact: view }, effect: (tx) => assertNotDeleted(tx, runId, 'replay') };
  });
}

export interface ReplaysDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Jobs;
  readonly states: Pick<RunStates, 'findMarket' | 'findStore'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly kind: JobKind<ReplayPayload>;
  readonly engineVersion: string;
  /** Returns the maximum memory of a backtest on the served market. */
  readonly estimatedBytes: () => number;
}

export function createReplays({
  documents,
  jobs,
  states,
  stores,
  kind,
  engineVersion,
  estimatedBytes,
}: ReplaysDependencies): Replays {
  /**
   * Returns the store of a run. If that store is unreadable, returns the active store; the replay then reports that the
   * data is different.
   */
  async function findReplayStore(run: RunDocument): Promise<string | undefined> {
    return (await states.findMarket(run)) === undefined ? undefined : states.findStore(run);
  }

  return {
    assertRun: async (name) => void (await requireRun(documents, name)),
    async replay(name, origin) {
      const run = await requireRun(documents, name);
      return stores.within(await findReplayStore(run), () =>
        jobs.submit({
          kind,
          payload: { ...createPayload(name), run_hash: run.run_hash, engine_version: engineVersion },
          request: {},
          estimatedBytes: estimatedBytes(),
          message: 'waiting for a worker',
          origin,
        }),
      );
    },
  };
}
