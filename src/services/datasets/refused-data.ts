import type { Finding } from '#domain/refusals/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';

/** Data that was refused, with every problem of it. */
export const refuseData = (findings: readonly Finding[]): Refusal => refuseWithFindings('data', findings);

/** Returns findings, with those about the whole source placed at the field of the request that names it. */
export function placeFindings(field: string, findings: readonly Finding[]): Finding[] {
  return findings.map((finding) =>
    finding.path === '' && finding.code !== 'MORE_FINDINGS' ? { ...finding, path: field } : finding,
  );
}

/**
 * Converts the failure of a reading process to a finding, if the response is not a job.
 * @param field of the request, or of the store, that names what was read
 */
export async function convertFailure<T>(field: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'STORE_READ_FAILED')
      throw refuseData([{ severity: 'error', code: 'UNREADABLE_FILE', message: failure.message, path: field }]);
    if (failure instanceof Refusal && failure.code === 'STORE_WRITE_FAILED')
      throw new Refusal('STORE_UNAVAILABLE', failure.message, null, { cause: failure });
    throw failure;
  }
}
