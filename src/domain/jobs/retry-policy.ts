import { LIMITS } from '../refusals/limits.js';
import { JOB_KINDS, type JobKindName } from './job-kinds.js';

/** How often a kind of job is tried again, and when. */
export interface RetryPolicy {
  /** Attempts whose thread ended under them. */
  readonly crashes: number;
  /** Attempts whose process ended, fell silent or was cut off. */
  readonly losses: number;
  /** Attempts that were given back unharmed. */
  readonly releases: number;
  /** Seconds before the second retry for one cause; the first comes at once, each later one after twice as long. */
  readonly backoff: number;
  /** Longest wait before a retry, seconds. */
  readonly 'backoff-max': number;
  /** Seconds after its submission past which a job is not tried again; 0 for no limit. */
  readonly deadline: number;
}

interface RetryMember {
  readonly otherwise: number;
  readonly min: number;
  readonly max: number;
}

/** Members of a policy: their defaults and ranges. */
export const RETRY_MEMBERS: Readonly<Record<keyof RetryPolicy, RetryMember>> = {
  crashes: { otherwise: LIMITS.MAX_ATTEMPTS, min: 1, max: 1000 },
  // A job that takes its machine down stops before long; twenty partitions or kills within one job are none of its own.
  losses: { otherwise: 20, min: 1, max: 10_000 },
  // A long job on machines that come and go by the hour.
  releases: { otherwise: 1000, min: 1, max: 100_000 },
  backoff: { otherwise: 1, min: 0, max: 3600 },
  'backoff-max': { otherwise: 60, min: 0, max: 86_400 },
  deadline: { otherwise: 0, min: 0, max: 2_592_000 },
};

export type RetryPolicies = (kind: JobKindName) => RetryPolicy;

const MEMBERS = Object.keys(RETRY_MEMBERS) as (keyof RetryPolicy)[]; // Of the table above.

export const RETRY_DEFAULTS = Object.fromEntries(
  MEMBERS.map((member) => [member, RETRY_MEMBERS[member].otherwise]),
) as unknown as RetryPolicy; // One number for each member.

/**
 * Policies from the text of a setting: `member=value` for all kinds and `kind.member=value` for one, with commas.
 * @returns the policies, or the clause that says what the text must be
 */
export function parseRetryPolicies(text: string): RetryPolicies | string {
  const common: Partial<Record<keyof RetryPolicy, number>> = {};
  const ofKind = new Map<string, Partial<Record<keyof RetryPolicy, number>>>();
  for (const entry of text.split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [, kind, member, value] = /^(?:([a-z]+)\.)?([a-z-]+)=(\d{1,9})$/.exec(entry) ?? [];
    if (member === undefined) return `must be member=value or kind.member=value, with commas: ${entry}`;
    if (kind !== undefined && !(JOB_KINDS as readonly string[]).includes(kind))
      return `must name a kind of job (${JOB_KINDS.join(', ')}): ${entry}`;
    const known = MEMBERS.find((each) => each === member);
    if (known === undefined) return `must name one of ${MEMBERS.join(', ')}: ${entry}`;
    const { min, max } = RETRY_MEMBERS[known];
    if (Number(value) < min || Number(value) > max) return `must be ${min} to ${max} for ${member}: ${entry}`;
    const target = kind === undefined ? common : (ofKind.get(kind) ?? {});
    target[known] = Number(value);
    if (kind !== undefined) ofKind.set(kind, target);
  }
  return (kind) => ({ ...RETRY_DEFAULTS, ...common, ...ofKind.get(kind) });
}

/** Shortest share of a wait that chance leaves of it: retries of many jobs do not come together. */
const JITTER_MIN = 0.5;

/**
 * Time before a job is tried again.
 * @param ended attempts that have ended for the same cause, at least 1
 * @param chance 0 to 1
 * @returns milliseconds
 */
export function retryDelayMs(policy: RetryPolicy, ended: number, chance: number): number {
  if (ended < 2) return 0;
  const seconds = Math.min(policy['backoff-max'], policy.backoff * 2 ** Math.min(ended - 2, 30));
  return Math.round(seconds * 1000 * (JITTER_MIN + (1 - JITTER_MIN) * chance));
}
