import { LIMITS } from '../refusals/limits.js';
import { JOB_KINDS, type JobKindName } from './job-kinds.js';

/** Number and timing of retries of a kind of job. */
export interface RetryPolicy {
  /** Maximum number of attempts that end because their thread crashed. */
  readonly crashes: number;
  /** Maximum number of attempts whose process ended, stopped responding or lost its connection. */
  readonly losses: number;
  /** Maximum number of attempts that a process returned to the queue without a failure. */
  readonly releases: number;
  /**
   * Delay in seconds before the second retry after one cause. The first retry is immediate. After crashes each further
   * delay is twice as long.
   */
  readonly backoff: number;
  /** Maximum delay before a retry, in seconds. */
  readonly 'backoff-max': number;
  /** Age after which a job is not retried, in seconds since its submission; 0: no limit. */
  readonly deadline: number;
}

interface RetryMember {
  readonly otherwise: number;
  readonly min: number;
  readonly max: number;
}

/** Members of a policy, with their defaults and ranges. */
export const RETRY_MEMBERS: Readonly<Record<keyof RetryPolicy, RetryMember>> = {
  crashes: { otherwise: LIMITS.MAX_ATTEMPTS, min: 1, max: 1000 },
  // Limits attempts whose process was killed or unreachable. After twenty of them, the job itself probably crashes its
  // machine.
  losses: { otherwise: 20, min: 1, max: 10_000 },
  // Allows a long job on machines that are replaced every hour.
  releases: { otherwise: 1000, min: 1, max: 100_000 },
  backoff: { otherwise: 1, min: 0, max: 3600 },
  'backoff-max': { otherwise: 60, min: 0, max: 86_400 },
  deadline: { otherwise: 0, min: 0, max: 2_592_000 },
};

export type RetryPolicies = (kind: JobKindName) => RetryPolicy;

const MEMBERS = Object.keys(RETRY_MEMBERS) as (keyof RetryPolicy)[]; // the keys of the table above

export const RETRY_DEFAULTS = Object.fromEntries(
  MEMBERS.map((member) => [member, RETRY_MEMBERS[member].otherwise]),
) as unknown as RetryPolicy; // the object has a number for each member

/**
 * Parses policies from the text of a setting: `member=value` for all kinds and `kind.member=value` for one kind,
 * separated by commas.
 * @returns the policies, or a clause that states the required form
 */
export function parseRetryPolicies(text: string): RetryPolicies | string {
  const commonPolicy: Partial<Record<keyof RetryPolicy, number>> = {};
  const policyByKind = new Map<string, Partial<Record<keyof RetryPolicy, number>>>();
  for (const entry of text.split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [, kind, member, value] = /^(?:([a-z]+)\.)?([a-z-]+)=(\d{1,9})$/.exec(entry) ?? [];
    if (member === undefined) return `must be member=value or kind.member=value, with commas: ${entry}`;
    if (kind !== undefined && !(JOB_KINDS as readonly string[]).includes(kind))
      return `must name a kind of job (${JOB_KINDS.join(', ')}): ${entry}`;
    const retryMember = MEMBERS.find((each) => each === member);
    if (retryMember === undefined) return `must name one of ${MEMBERS.join(', ')}: ${entry}`;
    const { min, max } = RETRY_MEMBERS[retryMember];
    if (Number(value) < min || Number(value) > max) return `must be ${min} to ${max} for ${member}: ${entry}`;
    const target = kind === undefined ? commonPolicy : (policyByKind.get(kind) ?? {});
    target[retryMember] = Number(value);
    if (kind !== undefined) policyByKind.set(kind, target);
  }
  return (kind) => ({ ...RETRY_DEFAULTS, ...commonPolicy, ...policyByKind.get(kind) });
}

/** Minimum fraction of a delay after jitter, which spreads the retries of many jobs. */
const JITTER_MIN = 0.5;

/**
 * Returns the delay before a job is retried. Only delays after crashes grow, because the loss of a machine is not a
 * failure of the job.
 * @param endedAttempts number of attempts that ended for this cause, at least 1
 * @param chance random number from 0 to 1
 * @returns milliseconds
 */
export function computeRetryDelayMs(
  policy: RetryPolicy,
  cause: 'crashes' | 'losses' | 'releases',
  endedAttempts: number,
  chance: number,
): number {
  if (endedAttempts < 2) return 0;
  const doublings = cause === 'crashes' ? Math.min(endedAttempts - 2, 30) : 0;
  const seconds = Math.min(policy['backoff-max'], policy.backoff * 2 ** doublings);
  return Math.round(seconds * 1000 * (JITTER_MIN + (1 - JITTER_MIN) * chance));
}
