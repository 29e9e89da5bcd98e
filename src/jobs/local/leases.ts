import type { AttemptKey } from '../attempt-key.js';
import type { Lease } from '../queue.js';
import type { LiveJob } from './job-table.js';

/** The leases of running jobs, and when each was last heard of. */
export interface Leases {
  /** The lease of an attempt that begins now. */
  grant(job: LiveJob, nowMs: number): Lease;
  /** The lease of the attempt that a job has. */
  of(job: LiveJob): Lease | undefined;
  /** The lease that this process holds of a job. */
  ofJob(jobId: string): Lease | undefined;
  /** Whether a lease is that of the attempt that its job has. */
  isHeld(lease: Lease): boolean;
  /** Notes a heartbeat. */
  beat(lease: Lease, nowMs: number): void;
  /** Leases without a heartbeat since before some time. */
  silentSince(ms: number): readonly Lease[];
  /** Takes a lease back; one that its own node did not end is lost. */
  end(job: LiveJob, isLost: boolean): void;
  /** Takes back a lease that another process has given to somebody else. */
  lose(lease: Lease): void;
  readonly count: number;
}

/** A lease, and how to give it up. */
export interface NewLease {
  readonly lease: Lease;
  giveUp(): void;
}

interface Held extends NewLease {
  beatMs: number;
}

export function createLeases(): Leases {
  /** By job. */
  const leases = new Map<string, Held>();
  const held = ({ jobId, sequence, attempt }: Lease): Held | undefined => {
    const own = leases.get(jobId);
    return own?.lease.sequence === sequence && own.lease.attempt === attempt ? own : undefined;
  };

  return {
    grant({ identity: { job_id: jobId, sequence }, life: { attempt } }, nowMs) {
      const granted = newLease({ jobId, sequence, attempt });
      leases.set(jobId, { ...granted, beatMs: nowMs });
      return granted.lease;
    },
    of: ({ identity }) => leases.get(identity.job_id)?.lease,
    ofJob: (jobId) => leases.get(jobId)?.lease,
    isHeld: (lease) => held(lease) !== undefined,
    beat(lease, nowMs) {
      const own = held(lease);
      if (own !== undefined) own.beatMs = nowMs;
    },
    silentSince: (ms) => [...leases.values()].flatMap(({ lease, beatMs }) => (beatMs < ms ? [lease] : [])),
    end({ identity }, isLost) {
      const own = leases.get(identity.job_id);
      leases.delete(identity.job_id);
      if (isLost) own?.giveUp();
    },
    lose(lease) {
      const own = held(lease);
      if (own === undefined) return;
      leases.delete(lease.jobId);
      own.giveUp();
    },
    get count() {
      return leases.size;
    },
  };
}

/** Less than an AbortSignal, of which every attempt has one of its own. */
export function newLease({ jobId, sequence, attempt }: AttemptKey): NewLease {
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
