import type { AttemptKey } from '../attempt-key.js';
import type { Lease } from '../queue.js';
import type { LiveJob } from './live-jobs.js';

/** Leases of running jobs with their last heartbeats. */
export interface Leases {
  /** Grants a lease for an attempt that starts now. */
  grant(job: LiveJob, nowMs: number): Lease;
  /** Returns the lease of a job's attempt. */
  of(job: LiveJob): Lease | undefined;
  /** Returns the lease that this process holds for a job. */
  ofJob(jobId: string): Lease | undefined;
  /** Returns true if a lease belongs to the current attempt of its job. */
  isHeld(lease: Lease): boolean;
  /** Records a heartbeat. */
  beat(lease: Lease, nowMs: number): void;
  /** Lists the leases without a heartbeat since a time. */
  silentSince(ms: number): readonly Lease[];
  /** Ends the lease of a job. With `isLost`, the node that holds the lease did not end it. */
  end(job: LiveJob, isLost: boolean): void;
  /** Ends the lease of an attempt after another process has given the job to another node. */
  lose(lease: Lease): void;
  readonly count: number;
}

/** Lease with the function that revokes it. */
export interface NewLease {
  readonly lease: Lease;
  giveUp(): void;
}

interface ActiveLease extends NewLease {
  beatMs: number;
}

export function createLeases(): Leases {
  /** Leases by job. */
  const leases = new Map<string, ActiveLease>();
  const findCurrent = ({ jobId, sequence, attempt }: Lease): ActiveLease | undefined => {
    const activeLease = leases.get(jobId);
    return activeLease?.lease.sequence === sequence && activeLease.lease.attempt === attempt ? activeLease : undefined;
  };

  return {
    grant({ identity: { job_id: jobId, sequence }, life: { attempt } }, nowMs) {
      const newLease = createLease({ jobId, sequence, attempt });
      leases.set(jobId, { ...newLease, beatMs: nowMs });
      return newLease.lease;
    },
    of: ({ identity }) => leases.get(identity.job_id)?.lease,
    ofJob: (jobId) => leases.get(jobId)?.lease,
    isHeld: (lease) => findCurrent(lease) !== undefined,
    beat(lease, nowMs) {
      const activeLease = findCurrent(lease);
      if (activeLease !== undefined) activeLease.beatMs = nowMs;
    },
    silentSince: (ms) => [...leases.values()].flatMap(({ lease, beatMs }) => (beatMs < ms ? [lease] : [])),
    end({ identity }, isLost) {
      const activeLease = leases.get(identity.job_id);
      leases.delete(identity.job_id);
      if (isLost) activeLease?.giveUp();
    },
    lose(lease) {
      const activeLease = findCurrent(lease);
      if (activeLease === undefined) return;
      leases.delete(lease.jobId);
      activeLease.giveUp();
    },
    get count() {
      return leases.size;
    },
  };
}

/** Creates a lease. Every attempt has one, so it uses fewer allocations than an AbortSignal. */
export function createLease({ jobId, sequence, attempt }: AttemptKey): NewLease {
  const calls: (() => void)[] = [];
  let isLost = false;
  return {
    lease: {
      jobId,
      sequence,
      attempt,
      get isLost() {
        return isLost;
      },
      onLost: (call) => void calls.push(call),
    },
    giveUp() {
      isLost = true;
      for (const call of calls) call();
    },
  };
}
