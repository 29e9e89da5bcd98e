import { JOB_KIND_CATALOGUE, type JobSubject } from '#domain/jobs/job-kinds.js';
import { isWithin, mayRead, type Reach } from '#domain/documents/reach.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { LocatedJob } from '#jobs/queue.js';
import type { JobStatus } from '#jobs/status.js';
import { findCurrentReach } from '#store/reach/reach-context.js';
import { outside } from './access.js';

type FollowedJobs = Pick<JobSystem, 'find' | 'list' | 'cancel' | 'retry' | 'watch' | 'watchAll' | 'liveIds'>;

/** Job kinds with ids that clients choose. */
const NAMED_KINDS: ReadonlySet<string> = new Set(['sweep', 'rerun', 'study']);
/** Job kinds whose ids contain the id of a risk model. */
const MODEL_KINDS: ReadonlySet<string> = new Set(['risk', 'validate']);

/**
 * Returns the jobs that the client of this request may see: jobs about documents with its prefixes, and about documents
 * that were shared with it.
 */
export function limitJobs(system: FollowedJobs): FollowedJobs {
  const reach = findCurrentReach();
  if (reach === undefined) return system;
  const findReachableJob = async (jobId: string): Promise<LocatedJob | undefined> => {
    const match = await system.find(jobId);
    return match !== undefined && isVisible(reach, match.status) ? match : undefined;
  };
  const assertJobReachable = async (jobId: string): Promise<void> => {
    const result = await findReachableJob(jobId);
    const subject = result && findSubject(result.status);
    if (subject === undefined || isWithin(reach, subject.id) || isWithinReach(reach, result!.status)) return;
    throw outside(reach, subject.kind, subject.id);
  };
  return {
    find: findReachableJob,
    watch: (jobId, listener) => system.watch(jobId, listener),
    watchAll: (listener) => system.watchAll(listener), // also reports other jobs, which `find` omits
    liveIds: () => system.liveIds(),
    async list({ limit, before, ...query }) {
      const jobStatus: JobStatus[] = [];
      for (let from = before; ;) {
        const { jobs, ...skips } = await system.list({ ...query, limit, before: from });
        jobStatus.push(...jobs.filter((status) => isVisible(reach, status)));
        from = jobs.at(-1)?.job_id;
        if (jobs.length < limit || jobStatus.length >= limit) return { jobs: jobStatus.slice(0, limit), ...skips };
      }
    },
    async cancel(jobId) {
      await assertJobReachable(jobId);
      return system.cancel(jobId);
    },
    async retry(jobId) {
      await assertJobReachable(jobId);
      return system.retry(jobId);
    },
  };
}

function isVisible(reach: Reach, status: JobStatus): boolean {
  const subject = findSubject(status);
  return subject !== undefined && mayRead(reach, subject.kind, subject.id);
}

/**
 * Returns true for a job with an id that the client may use, such as its sweep of an index that was only shared with
 * it.
 */
const isWithinReach = (reach: Reach, { kind, job_id: jobId }: JobStatus): boolean =>
  NAMED_KINDS.has(kind) && isWithin(reach, jobId.slice(jobId.indexOf(':') + 1));

/**
 * Returns the document that a job is about, or the name that a client gave to the job. Returns undefined if there is
 * neither.
 */
function findSubject({ kind, job_id: jobId, request }: JobStatus): { kind: string; id: string } | undefined {
  const ident = jobId.slice(jobId.indexOf(':') + 1);
  const subject: JobSubject | null = JOB_KIND_CATALOGUE[kind].subject;
  if (MODEL_KINDS.has(kind)) return { kind: 'risk-model', id: ident };
  if (subject?.of === 'dataset') return { kind: 'store', id: ident };
  if (subject?.named === 'ident') return { kind: 'index', id: ident };
  const requestFields = request as Readonly<Record<string, unknown>> | null;
  for (const [name, of] of [
    ['index_id', 'index'],
    ['template_id', 'template'],
  ] as const) {
    const id = requestFields?.[name];
    if (typeof id === 'string') return { kind: of, id };
  }
  return NAMED_KINDS.has(kind) ? { kind, id: ident } : undefined;
}
