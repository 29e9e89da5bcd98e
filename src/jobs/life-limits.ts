import type { RetryPolicies } from '#domain/jobs/retry-policy.js';
import type { JobIdentity } from './job-record.js';
import type { LifeLimits } from './life-cycle.js';

/** Returns the retry limits of a job, from the policy of its kind. */
export function computeLifeLimits(
  { kind, job_id: jobId, created_at: submittedAt }: JobIdentity,
  { attempt, getRetryPolicy }: { readonly attempt: number; readonly getRetryPolicy: RetryPolicies },
): LifeLimits {
  return { retry: getRetryPolicy(kind), submittedAt, chance: hashToFraction(`${jobId}#${attempt}`) };
}

/** Hashes a text to a fraction from 0 to 1 by FNV-1a. The result is equal on every node and in every run. */
function hashToFraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}
