import type { Finding } from '#domain/refusals/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';

/** Data that was refused, with every problem of it. */
export const refusedData = (findings: readonly Finding[]): Refusal => refuseWithFindings('data', findings);

/** Findings with those about a source as a whole at the field of the request that brings it. */
export function placedAt(field: string, findings: readonly Finding[]): Finding[] {
  return findings.map((finding) =>
    finding.path === '' && finding.code !== 'MORE_FINDINGS' ? { ...finding, path: field } : finding,
  );
}

/**
 * A reading process that failed is a finding where the answer is not a job's.
 * @param field of the request, or of the store, that says what was read
 */
export async function asFindings<T>(field: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'STORE_READ_FAILED')
      throw refusedData([{ severity: 'error', code: 'UNREADABLE_FILE', message: failure.message, path: field }]);
    if (failure instanceof Refusal && failure.code === 'STORE_WRITE_FAILED')
      throw new Refusal('STORE_UNAVAILABLE', failure.message, null, { cause: failure });
    throw failure;
  }
}
