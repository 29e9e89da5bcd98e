import { planThrough } from '#domain/backtest/plan-through.js';
import type { FullRunReason } from '#domain/documents/full-run-reasons.js';
import { definitionChanges, isSameRequest } from '#domain/backtest/plan-changes.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketIdentity } from '#domain/market/handle.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { BacktestPayload } from '#domain/jobs/payloads.js';
import { jobKind, type Attempt, type JobKind } from '#jobs/job-kind.js';
import type { PortableTaskName, TaskInput, TaskOutput } from '#jobs/tasks.js';
import { RUN_FILES } from '#jobs/tasks/runs.js';
import type { HashedReference, StoredRunReferences } from '#jobs/tasks/references.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactInset, ArtifactRef, ArtifactStore, DocumentStore } from '#store/port.js';
import { columnsOf, earlierFiles, findRun, readRun, referenceTo } from '../stored/run-documents.js';
import { createStoredPrices, storedFilesOf, storedOnce } from './stored-once.js';
import { modelReferences, plannedFiles } from '../stored/used-models.js';
import { putRun } from '../stored/kept-runs.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { assertNotDeleted } from '../shared/jobs-about.js';
import { storedPlan, withDefaults } from '../stored/stored-plans.js';

export interface BacktestJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly markets: Markets;
  /** How many runs of an index stay, beside those that were published. */
  readonly runsKept: number;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
}

/** A stored run that can be extended. */
interface Continuable {
  /** Files with segments of its columns. */
  readonly columns: readonly ArtifactRef[];
  /** Snapshots that its result shares with that of the extended run. */
  readonly snapshots: ArtifactInset;
  readonly run: StoredRunReferences;
}

/** Files that an extended run shares with the stored one, under names of its own. */
interface SharedFiles {
  readonly earlier: readonly ArtifactRef[];
  readonly snapshots: ArtifactRef;
}

interface ShareInput {
  readonly artifacts: ArtifactStore;
  readonly stored: Continuable;
  /** Number of shared files of its columns. */
  readonly earlierFiles: number;
}

/** Links the files that an extended run shares with the stored one; undefined when one has gone. */
async function shared(
  attempt: Attempt<PortableTaskName>,
  { artifacts, stored: { columns, snapshots, run }, earlierFiles: count }: ShareInput,
): Promise<SharedFiles | undefined> {
  const { name, bytes, sha256 } = snapshots;
  const linked = await unlessGone(
    attempt.share([
      { ref: { name, bytes, sha256 }, name: artifacts.newName() },
      ...columns.slice(0, count).map((ref, i) => ({ ref, name: run.fileNames[i]! })),
    ]),
  );
  if (linked === undefined) return undefined;
  const [text, ...files] = linked;
  return { snapshots: text!, earlier: files }; // As many as were asked for.
}

/** Undefined where a stored file has gone. */
async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === 'DOCUMENT_UNREADABLE') return undefined;
    throw refusal;
  }
}

/** The matrices of stored risk models under names of the run's own: they stay when a model is estimated again. */
async function linked(
  attempt: Attempt<PortableTaskName>,
  artifacts: Pick<ArtifactStore, 'newName'>,
  matrices: Readonly<Record<string, ArtifactRef>>,
): Promise<Record<string, ArtifactRef>> {
  const ids = Object.keys(matrices);
  const files = await attempt.share(ids.map((id) => ({ ref: matrices[id]!, name: artifacts.newName() })));
  return Object.fromEntries(ids.map((id, i) => [id, files[i]!]));
}

interface ResumeStoredInput {
  readonly artifacts: ArtifactStore;
  readonly stored: Continuable;
  readonly task: Omit<TaskInput<'backtest'>, 'stored' | 'outputs'>;
}

interface ResumedRun {
  readonly output: TaskOutput<'backtest'>;
  /** Null where it was made whole all the same. */
  readonly before: SharedFiles | null;
}

/** A stored run extended where that gives the same, else a whole one. */
async function resumed(
  attempt: Attempt<PortableTaskName>,
  { artifacts, stored, task }: ResumeStoredInput,
): Promise<ResumedRun> {
  const outputs = attempt.outputs(RUN_FILES);
  const output = await unlessGone(attempt.compute('backtest', { ...task, outputs, stored: stored.run }));
  attempt.computed();
  if (output?.extendedFrom === null) return { output, before: null };
  const before = output && (await shared(attempt, { artifacts, stored, earlierFiles: output.earlierFiles }));
  if (output && before) return { output, before };
  // Who deleted the stored run took away what an extended one shares with it.
  await attempt.drop(Object.values(outputs));
  const again = { ...task, outputs: attempt.outputs(RUN_FILES), stored: 'no_checkpoint' as const };
  return { output: await attempt.compute('backtest', again, 0), before: null };
}

const hashedReference = (ref: Pick<ArtifactRef, 'name' | 'sha256'>): HashedReference => ({
  ...referenceTo(ref),
  sha256: ref.sha256,
});

interface MakeInput extends Omit<ResumeStoredInput, 'stored'> {
  readonly stored: Continuable | FullRunReason | null;
  /** Of the job's progress. */
  readonly share: number;
}

/** A run made whole, or from the stored one where there is one to continue. */
async function made(
  attempt: Attempt<PortableTaskName>,
  { artifacts, stored, task, share }: MakeInput,
): Promise<ResumedRun> {
  if (stored !== null && typeof stored !== 'string') return resumed(attempt, { artifacts, stored, task });
  const input = { ...task, outputs: attempt.outputs(RUN_FILES), stored };
  const output = await attempt.compute('backtest', input, share);
  attempt.computed();
  return { output, before: null };
}

/** Whether a run was made from what the market holds and its store declares now. */
function isOfMarket(run: RunDocument, { contentHash, adjustment, currency = null }: MarketIdentity): boolean {
  return (
    run.store_content_hash === contentHash &&
    run.adjustment === adjustment &&
    (run.declared_currency ?? null) === currency
  );
}

/** The kind of job that runs backtests: results become the stored run in the transaction that ends the job. */
export function createBacktestJob({
  documents,
  artifacts,
  markets,
  runsKept,
  dataVersions,
}: BacktestJobDependencies): JobKind<BacktestPayload> {
  const prices = createStoredPrices();

  /**
   * The stored run to extend; the reason when it cannot be extended, which no file of it is read for; null when there
   * is none.
   */
  async function storedRun(
    payload: BacktestPayload,
    market: MarketIdentity,
  ): Promise<Continuable | FullRunReason | null> {
    const found = await documents.get('run', payload.plan.runId);
    if (found === undefined) return null;
    const run = 'unreadable' in found ? undefined : readRun(found.body);
    const { columns, checkpoint, result } = run?.artifacts ?? {};
    const snapshots = result?.inset;
    if (run === undefined || !columns || !checkpoint || !result || !snapshots) return 'no_checkpoint';
    const reason = await planReasonOf(run, payload, market);
    if (reason !== null) return reason;
    const files = [...earlierFiles(run), columns];
    const references = {
      columns: columnsOf(run),
      checkpoint: hashedReference(checkpoint),
      result: referenceTo(result),
      // All that is copied or shared: an extended run has no damage of the stored one.
      checked: [snapshots, ...files].map(hashedReference),
    };
    return {
      columns: files,
      snapshots,
      run: { ...references, fileNames: files.map(() => artifacts.newName()) },
    };
  }

  /**
   * Why a stored run cannot be extended to that of a plan, from the two plans; null where they differ at most in the
   * end.
   */
  async function planReasonOf(
    run: RunDocument,
    { plan, asked, engine_version: engineVersion }: BacktestPayload,
    market: MarketIdentity,
  ): Promise<FullRunReason | null> {
    if (run.engine_version !== engineVersion) return 'definition_changed';
    const before = await readPlan(run);
    if (before === undefined) return 'no_checkpoint';
    const [was, is] = [planThrough(before, run.end), planThrough(plan, run.end)];
    if (definitionChanges({ plan: was, asked: run.asked }, { plan: is, asked }).length > 0) return 'definition_changed';
    if (!isSameRequest(before, plan)) return 'request_changed';
    const isSameEnd = before.request.end === plan.request.end;
    return isSameEnd && isOfMarket(run, market) ? 'no_new_session' : null;
  }

  /** The plan of a stored run, undefined where it cannot be read. */
  async function readPlan(run: RunDocument): Promise<BacktestPlan | undefined> {
    try {
      return withDefaults(await storedPlan(artifacts, run));
    } catch (refusal) {
      if (refusal instanceof Refusal) return undefined;
      throw refusal;
    }
  }

  /** The files of a run, made and stored. */
  async function filesOf(
    attempt: Attempt<PortableTaskName>,
    { plan, task, stored }: { readonly plan: BacktestPlan } & Pick<MakeInput, 'task' | 'stored'>,
  ) {
    const last = await findRun(documents, plan.runId);
    let offered = { prices: prices.with(last), files: last ? storedFilesOf(last) : {} };
    for (let share = 1; ; share = 0) {
      const order = { ...task, storedPrices: [...offered.prices.values()], storedFiles: offered.files };
      const { output, before } = await made(attempt, { artifacts, stored, task: order, share });
      const { overview, columns, checkpoint, snapshots } = output;
      const newest = await findRun(documents, plan.runId);
      const own = {
        overview,
        columns,
        ...(checkpoint ? { checkpoint } : {}),
        ...(snapshots.text ? { snapshots: snapshots.text } : {}),
        plan: output.plan,
      };
      const { unwritten } = output;
      const once = await storedOnce(attempt, artifacts, {
        own,
        unwritten,
        prices: output.prices,
        newest,
        stored: offered.prices,
      });
      if (once === undefined) {
        // Whoever deleted the other run took its files away: they are written now.
        await attempt.drop([output.result, ...Object.values(own)].map(({ name }) => name));
        offered = { prices: new Map(), files: {} };
        continue;
      }
      if (once.prices) prices.remember(once.prices);
      const { snapshots: text = before?.snapshots, ...files } = once.files;
      return {
        output,
        newest,
        files,
        snapshots: text!, // Its own, or those of the run that it extends.
        begun: before?.earlier ?? (once.prices ? [once.prices] : []),
      };
    }
  }

  return jobKind('backtest', async (payload, attempt) => {
    const { plan, asked, engine_version: engineVersion } = payload;
    await markets.settled(); // A run of the last process waits for the data that is on its way.
    const known = await dataVersions.at(payload.data_version);
    const { identity } = known.served;
    const matrices = await plannedFiles(documents, artifacts, plan.models);
    const task = {
      market: identity,
      plan,
      ...modelReferences(plan.models, matrices),
      ...(plan.request.as_known === undefined ? {} : { known: await dataVersions.before(known.version) }),
      engineVersion,
      indexVersion: payload.index_version ?? null,
    };
    const stored = payload.data_version === undefined ? await storedRun(payload, identity) : null;
    const { output, snapshots, files: own, begun, newest } = await filesOf(attempt, { plan, task, stored });
    const called = output.called ?? newest?.called ?? [];
    const files = {
      ...own,
      result: { ...output.result, inset: { ...snapshots, at: output.snapshots.at } },
      ...(plan.models === undefined ? {} : { models: await linked(attempt, artifacts, matrices) }),
      ...(begun.length > 0 ? { begun: [...begun] } : {}),
    };
    const document: RunDocument = {
      run_id: plan.runId,
      index_id: plan.indexId,
      name: plan.name,
      run_at: output.runAt,
      start: output.start,
      end: output.end,
      ...(called.length === 0 ? {} : { called: [...called] }),
      run_hash: output.runHash,
      store_id: identity.datasetId,
      adjustment: identity.adjustment,
      store_content_hash: output.storeContentHash,
      store_version: known.version,
      ...(payload.data_version === undefined ? {} : { as_known_on: payload.data_version }),
      declared_currency: identity.currency ?? null,
      engine_version: engineVersion,
      ...(payload.index_version === undefined ? {} : { index_version: payload.index_version }),
      extended_from: output.extendedFrom,
      full_run_reason: output.fullRunReason,
      request: plan.request,
      ...(asked === undefined ? {} : { asked }),
      artifacts: files,
    };
    return {
      result: { artifact: files.result },
      async effect(tx) {
        await assertNotDeleted(tx, plan.runId, 'backtest');
        await putRun(tx, document, runsKept);
        tx.publish({ type: 'run-stored', run_id: plan.runId });
      },
    };
  });
}
