import { Counter, type Registry } from 'prom-client';
import type { EndedJob } from '#jobs/queue.js';

/** Counters of requests and jobs by key. */
export interface KeyMetrics {
  request(keyId: string | null): void;
  jobEnded(job: Pick<EndedJob, 'owner' | 'kind' | 'outcome'>): void;
}

/**
 * Maximum number of keys with their own series. A key has one series per kind of job and outcome. All other keys are
 * counted together.
 */
const KEYS_MAX = 256;
const NO_KEY_LABEL = 'none';
const OTHER_KEYS_LABEL = 'other';

export function createKeyMetrics(registers: Registry[]): KeyMetrics {
  const requests = new Counter({
    name: 'divisor_key_requests_total',
    help: 'Requests by the id of their key. none: requests without a key. other: all keys after the first 256.',
    labelNames: ['key'],
    registers,
  });
  const jobs = new Counter({
    name: 'divisor_key_jobs_total',
    help: 'Ended jobs by the id of the key that submitted them, kind and outcome.',
    labelNames: ['key', 'kind', 'outcome'],
    registers,
  });
  const knownKeys = new Set<string>();

  function formatLabel(keyId: string | null): string {
    if (keyId === null || keyId === '') return NO_KEY_LABEL;
    if (!knownKeys.has(keyId) && knownKeys.size >= KEYS_MAX) return OTHER_KEYS_LABEL;
    knownKeys.add(keyId);
    return keyId;
  }

  return {
    request: (keyId) => requests.inc({ key: formatLabel(keyId) }),
    jobEnded: ({ owner, kind, outcome }) => jobs.inc({ key: formatLabel(owner), kind, outcome }),
  };
}
