import { parseRetryPolicies, type RetryPolicies } from '#domain/jobs/retry-policy.js';

/** Parses retry policies that are known to be valid. */
export function parsePolicies(text: string): RetryPolicies {
  const read = parseRetryPolicies(text);
  if (typeof read === 'string') throw new Error(read);
  return read;
}

/** Retry policy without waits: three crashes or losses fail a job. */
export const RETRIES_AT_ONCE = parsePolicies('crashes=3,losses=3,backoff=0');
