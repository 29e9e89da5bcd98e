import { parseRetryPolicies, type RetryPolicies } from '#domain/outputs/jobs.js';

/** Parses retry policies. The text must be valid. */
export function parsePolicies(text: string): RetryPolicies {
  const read = parseRetryPolicies(text);
  if (typeof read === 'string') throw new Error(read);
  return read;
}

/** Retry policy without waits. A job fails after three crashes or losses. */
export const RETRIES_AT_ONCE = parsePolicies('crashes=3,losses=3,backoff=0');
