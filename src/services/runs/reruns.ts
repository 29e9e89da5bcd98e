import { randomBytes } from 'node:crypto';
import type { RerunRequest } from '#contract/reruns.js';
import { isWithin } from '#domain/documents/reach.js';
import type { RerunPayload } from '#domain/jobs/payloads.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { JobKind } from '#jobs/job-kind.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { assertOwnName, currentReach, prefixName } from '../operations/access.js';
import { limitJobs } from '../operations/reachable-jobs.js';
import { readRows } from './result-rows.js';

export interface RerunsDependencies {
  readonly documents: Pick<DocumentStore, 'ids'>;
  readonly jobs: JobSystem;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly kind: JobKind<RerunPayload>;
  readonly engineVersion: string;
  /** Returns the maximum memory of a backtest on the served market, in bytes. @throws Refusal NO_DATA_SOURCE */
  readonly estimatedBytes: () => number;
  /** Number of threads of the pool. */
  readonly workers: number;
  readonly now: () => number;
}

/** Runs of many stale indices as one job. */
export interface Reruns {
  /** Queues a rerun of stale indices. @throws Refusal VALIDATION_FAILED, FORBIDDEN_ID, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED */
  start(request: RerunRequest, origin: Origin | null): Promise<JobStatus>;
  /**
   * Returns a block of the rows of a succeeded rerun as JSON.
   * @throws Refusal JOB_NOT_FOUND; VALIDATION_FAILED after the last block; DOCUMENT_UNREADABLE
   */
  rows(rerunId: string, block: number): Promise<Uint8Array<ArrayBuffer>>;
}

export function createReruns(dependencies: RerunsDependencies): Reruns {
  const { documents, jobs, artifacts, kind, engineVersion, estimatedBytes, workers, now } = dependencies;

  /**
   * Returns the ids of the indices to run. @throws Refusal FORBIDDEN_ID for an id that the client may not use,
   * VALIDATION_FAILED for too many ids
   */
  async function readIds(ids: RerunRequest['ids']): Promise<readonly string[]> {
    if (ids !== null) {
      for (const id of ids) assertOwnName(id);
      return [...new Set(ids)];
    }
    const reach = currentReach();
    const storedIds = (await documents.ids('run')).filter((id) => reach === undefined || isWithin(reach, id));
    if (storedIds.length <= LIMITS.MAX_RERUN_IDS) return storedIds;
    throw refuseWithFindings('rerun', [
      {
        severity: 'error',
        code: 'OUT_OF_RANGE',
        path: 'ids',
        message: `${storedIds.length} indices and strategies have a stored run; a rerun takes ${LIMITS.MAX_RERUN_IDS} at most: name them.`,
      },
    ]);
  }

  return {
    rows: (ident, block) => readRows({ kind: 'rerun', ident, block }, limitJobs(jobs), artifacts),
    async start(request, origin) {
      const ids = await readIds(request.ids);
      if (request.rerun_id !== null) assertOwnName(request.rerun_id);
      const reach = currentReach();
      return jobs.submit({
        kind,
        payload: {
          rerun_id: request.rerun_id ?? prefixName(createRerunId(now())),
          ids,
          reach: reach === undefined ? null : { prefixes: [...reach.prefixes], shared: [...reach.shared] },
          engine_version: engineVersion,
        },
        request,
        estimatedBytes: workers * estimatedBytes(),
        message: 'waiting for a worker',
        origin,
      });
    },
  };
}

/** Creates an id of the form `{yyyymmddThhmmss}-{8 hex}`. */
function createRerunId(now: number): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  return `${stamp}-${randomBytes(4).toString('hex')}`;
}
