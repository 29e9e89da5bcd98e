import { evenParts, partPlaces } from '#domain/numbers/even-parts.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { RerunPayload } from '#domain/jobs/payloads.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { jobKind, type Attempt, type JobKind } from '#jobs/job-kind.js';
import type { PartOutput, WrittenParts } from '#jobs/offered-parts.js';
import type { PortableTaskName } from '#jobs/tasks.js';
import type { RerunEntry, RerunOutput } from '#jobs/tasks/runs.js';
import type { Markets } from '#market/serving/markets.js';
import { runIdOf } from '#store/run-id.js';
import type { ArtifactStore, DocumentStore, DocumentTransaction } from '#store/port.js';
import { withinReach } from '../operations/access.js';
import { putRunAfter } from '../stored/kept-runs.js';
import { artifactsOf, findRun } from '../stored/run-documents.js';
import { isOfService } from './backtest-batches.js';
import type { RunMaker } from './made-runs.js';
import { backtestPayload, type RunnableRuns } from './runnable-runs.js';

type RunAttempt = Attempt<PortableTaskName>;

export interface RerunJobDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly markets: Pick<Markets, 'settled'>;
  readonly runnables: RunnableRuns;
  readonly runMaker: RunMaker;
  /** Number of runs of an index to keep, in addition to published runs. */
  readonly runsKept: number;
  /** Threads of the pool. */
  readonly workers: number;
}

/** Share of the work after the runs are computed. */
const SUMMING = 0.02;

/**
 * Creates the kind of job that runs stale indices again in parts. A part writes the files of its runs on any node and
 * lists their documents; the end of the job stores all of them.
 */
export function createRerunJob(dependencies: RerunJobDependencies): JobKind<RerunPayload> {
  const { documents, artifacts, markets, runnables, runMaker, runsKept, workers } = dependencies;

  async function entryOf(indexId: string, payload: RerunPayload, attempt: RunAttempt): Promise<RerunEntry> {
    const newest = await findRun(documents, indexId);
    const previous = newest === undefined ? null : runIdOf(newest);
    try {
      const reach = reachOf(payload);
      const order = await (reach === undefined
        ? orderOf(indexId, payload)
        : withinReach(reach, () => orderOf(indexId, payload)));
      if ('current' in order)
        return { row: rowOf(order.current, { indexId, outcome: 'current' }), run: null, previous };
      const run = await runMaker.make(order.payload, attempt);
      return { row: { ...rowOf(run, { indexId, outcome: 'stored' }), previous_run_id: previous }, run, previous };
    } catch (thrown) {
      if (!(thrown instanceof Refusal) || isOfService(thrown)) throw thrown;
      const error = thrown.toDetail() as RerunEntry['row']['error'];
      return { row: { ...rowOf(undefined, { indexId, outcome: 'refused' }), error }, run: null, previous };
    }
  }

  /**
   * Returns the stored run if it is not stale, otherwise the input of a new one. @throws Refusal with the reason why it
   * cannot be run
   */
  async function orderOf(indexId: string, { engine_version: engineVersion }: RerunPayload) {
    const asked = { request: await runnables.onStoredTerms(indexId, {}) };
    const current = await runnables.currentRun(indexId, asked);
    if (current !== undefined) return { current };
    return { payload: backtestPayload(asked, await runnables.planOf(indexId, asked), engineVersion) };
  }

  /** @param share part of the job's progress that the parts fill */
  async function outputOf(
    payload: RerunPayload,
    parts: readonly number[],
    { attempt, share }: { readonly attempt: RunAttempt; readonly share: number },
  ): Promise<PartOutput> {
    await markets.settled();
    const { positions } = evenParts(payload.ids.length);
    const count = parts.reduce((sum, part) => sum + positions(part).length, 0);
    const own = asOneOf(attempt, share / count);
    const output: RerunEntry[][] = [];
    for (const part of parts) {
      const entries: RerunEntry[] = [];
      for (const position of positions(part)) entries.push(await entryOf(payload.ids[position]!, payload, own));
      output.push(entries);
    }
    const artifact = await attempt.write(Buffer.from(JSON.stringify(output satisfies RerunOutput)));
    return { artifact, files: output.flat().flatMap(({ run }) => (run === null ? [] : artifactsOf(run))) };
  }

  /** Returns the runs to store, each part once. The files of all others are removed. */
  async function madeRuns(written: readonly WrittenParts[], { drop }: Pick<RunAttempt, 'drop'>): Promise<Made[]> {
    const outputs: RerunOutput[] = [];
    for (const { artifact } of written)
      outputs.push(JSON.parse(Buffer.from(await artifacts.read(artifact)).toString()) as RerunOutput); // as a part wrote it
    const { first, others } = partPlaces(written);
    const madeIn = (places: typeof first): Made[] =>
      places.flatMap(({ output, at }) => outputs[output]![at]!.filter((entry): entry is Made => entry.run !== null));
    const unused = madeIn(others).flatMap(({ run }) => artifactsOf(run));
    if (unused.length > 0) await drop(unused.map(({ name }) => name));
    return madeIn(first);
  }

  async function store(tx: DocumentTransaction, made: readonly Made[]): Promise<void> {
    for (const { run, previous } of made) {
      if (await putRunAfter(tx, run, { after: previous, runsKept }))
        tx.publish({ type: 'run-stored', run_id: run.run_id });
    }
  }

  return jobKind(
    'rerun',
    async (payload, attempt) => {
      const written = await attempt.inParts({
        count: evenParts(payload.ids.length).count,
        atOnce: 2 * workers,
        share: 1 - SUMMING,
        here: (part, share) => outputOf(payload, [part], { attempt, share }),
      });
      const result = await madeRuns(written, attempt);
      const files = written.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
      const { rerun_id: rerunId, engine_version: engineVersion } = payload;
      const outputs = attempt.outputs(['view', 'rows']);
      const { view, rows } = await attempt.compute('sum-rerun', { rerunId, engineVersion, files, outputs }, SUMMING);
      return { result: { artifact: view, rows }, effect: (tx) => store(tx, result) };
    },
    async (payload, parts, attempt) => ({ result: await outputOf(payload, parts, { attempt, share: 1 }) }),
  );
}

type Made = RerunEntry & { readonly run: RunDocument };

const reachOf = ({ reach }: RerunPayload) =>
  reach === null ? undefined : { prefixes: reach.prefixes, shared: new Set(reach.shared), isHidden: false };

function rowOf(
  run: RunDocument | undefined,
  { indexId, outcome }: { readonly indexId: string; readonly outcome: RerunEntry['row']['outcome'] },
): RerunEntry['row'] {
  const isNew = outcome === 'stored';
  return {
    index_id: indexId,
    outcome,
    run_id: run === undefined ? null : runIdOf(run),
    previous_run_id: null,
    end: run?.end ?? null,
    extended_from: (isNew ? run?.extended_from : null) ?? null,
    full_run_reason: (isNew ? run?.full_run_reason : null) ?? null,
    error: null,
  };
}

/** Returns an attempt for one of many runs: it fills a share of the progress, and the job computes on after it. */
const asOneOf = (attempt: RunAttempt, share: number): RunAttempt => ({
  ...attempt,
  compute: (task, input, part = 1) => attempt.compute(task, input, part * share),
  computed: () => {},
});
