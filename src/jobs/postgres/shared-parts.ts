import { Refusal } from '#domain/refusals/refusal.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';
import type { Clock } from '../clock.js';
import { splitRecord, type JobIdentity } from '../job-record.js';
import type { StoredInput } from '../retained-parts.js';
import { createLease, type NewLease } from '../local/leases.js';
import type { OfferedParts } from '../offered-parts.js';
import type { Claim, ClaimOrder, Ending, Lease } from '../queue.js';
import { parseRecord } from './job-documents.js';
import { createNotificationBuffer } from './notification-buffer.js';
import { BEAT_MS_MIN } from './heartbeats.js';
import type { PartRows, ClaimedParts } from './part-rows.js';

export interface SharedPartsDependencies {
  readonly rows: PartRows;
  readonly documents: Pick<PostgresDocuments, 'get'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly leaseMs: number;
}

/**
 * Parts of running jobs on this node. Contains the parts that it offers, and the parts of other nodes' jobs that it
 * computes.
 */
export interface SharedParts extends OfferedParts {
  /** Records whether the last poll found parts that this node may take. */
  note(areWaiting: boolean): void;
  /** Takes parts of a job that runs elsewhere, if any have been found. */
  claim(order: ClaimOrder): Promise<Claim | undefined>;
  /** Returns true if a lease is for parts of another node's job. */
  hasLease(lease: Lease): boolean;
  /** See the queue's `heartbeat`. */
  heartbeat(lease: Lease): Promise<boolean>;
  /**
   * Ends the work on parts like `complete` of the queue. A success is written. After any other end, the node of the job
   * computes the parts itself.
   */
  complete(lease: Lease, ending: Ending): Promise<boolean>;
  /** Checks at once whether the parts of a job are still needed. */
  ask(jobId: string): void;
  /** Deletes the offers of an ended job. */
  forget(jobId: string): Promise<void>;
}

interface ActivePartLease extends NewLease {
  readonly claim: ClaimedParts;
  beatMs: number;
}

/** Input of a job. */
interface SubmittedJob {
  readonly jobId: string;
  readonly sequence: number;
  readonly job: JobIdentity;
  readonly input: Claim['input'];
}

/**
 * Maximum number of recorded jobs whose parts this node could not compute. It exceeds the number of jobs that may run
 * at once.
 */
const REFUSED_JOBS_MAX = 100;

export function createSharedParts({ rows, documents, clock, leaseMs }: SharedPartsDependencies): SharedParts {
  const activeLeases = new Map<Lease, ActivePartLease>();
  const grantedLeases = new WeakSet<Lease>();
  const refusedJobs = new Set<string>();
  /** Jobs that end while the node takes parts of them. */
  const notificationBuffer = createNotificationBuffer();
  let last: SubmittedJob | undefined;
  let areWaiting = false;

  /** Returns the input of a job. The last input is cached, because the next parts usually belong to the same job. */
  async function readSubmittedJob({ jobId, sequence }: ClaimedParts): Promise<SubmittedJob | undefined> {
    if (last?.jobId === jobId && last.sequence === sequence) return last;
    const [record, stored] = await Promise.all([
      documents.get('job', jobId).then(parseRecord),
      documents.get('job-input', jobId),
    ]);
    if (record?.sequence !== sequence || stored === undefined) return undefined;
    const { identity: job } = splitRecord(record);
    // a submission wrote the input and the store checked its seal
    const input = 'unreadable' in stored ? undefined : (stored.body as StoredInput);
    last = { jobId, sequence, job, input };
    return last;
  }

  async function claim({ lane, exceptOwners, freeBytes, take }: ClaimOrder): Promise<Claim | undefined> {
    if (!areWaiting) return undefined;
    const order = { lane, freeBytes, exceptOwners: [...exceptOwners], exceptJobs: [...refusedJobs], leaseMs };
    const { value: claimedParts, heard } = await notificationBuffer.during(() => rows.claim(order));
    areWaiting = claimedParts !== undefined;
    if (claimedParts === undefined) return undefined;
    if (!take(claimedParts)) {
      await rows.release(claimedParts);
      return undefined;
    }
    const activePartLease: ActivePartLease = {
      ...createLease(claimedParts),
      claim: claimedParts,
      beatMs: clock.monotonicMs(),
    };
    const { lease } = activePartLease;
    grantedLeases.add(lease);
    activeLeases.set(lease, activePartLease);
    if (heard.has(claimedParts.jobId)) askAgain(activePartLease);
    const submittedJob = await readSubmittedJob(claimedParts).catch((thrown: unknown) => {
      activeLeases.delete(lease);
      throw thrown;
    });
    if (submittedJob === undefined) {
      activeLeases.delete(lease); // the job of the parts has ended
      return undefined;
    }
    const { job, input } = submittedJob;
    return { lease, job, input, parts: claimedParts.parts };
  }

  function askAgain(activePartLease: ActivePartLease): void {
    void prolong(activePartLease).catch(() => {}); // a heartbeat tries again
  }

  function giveUpLease(activePartLease: ActivePartLease): false {
    activeLeases.delete(activePartLease.lease);
    activePartLease.giveUp();
    return false;
  }

  async function prolong(activePartLease: ActivePartLease): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    if (!(await rows.beat(activePartLease.claim, leaseMs))) return giveUpLease(activePartLease);
    activePartLease.beatMs = nowMs;
    return true;
  }

  function refuse(jobId: string): void {
    refusedJobs.add(jobId);
    if (refusedJobs.size > REFUSED_JOBS_MAX) refusedJobs.delete(refusedJobs.values().next().value!);
  }

  return {
    offer: rows.offer,
    take: rows.take,
    collect: rows.collect,
    remaining: rows.remaining,
    withdraw: ({ jobId }) => rows.withdraw(jobId),
    note: (seen) => void (areWaiting = seen),
    claim,
    hasLease: (lease) => grantedLeases.has(lease),
    async heartbeat(lease) {
      const activePartLease = activeLeases.get(lease);
      if (activePartLease === undefined) return false;
      return clock.monotonicMs() - activePartLease.beatMs < BEAT_MS_MIN || prolong(activePartLease);
    },
    async complete(lease, ending) {
      const claimedParts = activeLeases.get(lease)?.claim;
      if (claimedParts === undefined) return false;
      activeLeases.delete(lease);
      if (ending.type === 'succeed' && 'artifact' in ending.result) {
        const { artifact, files } = ending.result;
        return rows.write(claimedParts, { artifact, ...(files && { files }), parts: claimedParts.parts });
      }
      if (ending.type !== 'release') refuse(claimedParts.jobId);
      await rows.giveBack(claimedParts);
      return true;
    },
    ask(jobId) {
      notificationBuffer.hear(jobId);
      for (const activePartLease of activeLeases.values())
        if (activePartLease.claim.jobId === jobId) askAgain(activePartLease);
    },
    forget: (jobId) =>
      rows.withdraw(jobId).catch((thrown: unknown) => {
        if (!(thrown instanceof Refusal)) throw thrown; // no node takes parts of an ended job
      }),
  };
}
