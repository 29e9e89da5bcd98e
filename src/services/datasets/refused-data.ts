import type { Finding } from '#domain/refusals/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';

/** Returns the refusal of data, with all problems of the data. */
export const refuseData = (findings: readonly Finding[]): Refusal => refuseWithFindings('data', findings);

/** Returns findings about the whole source with the path of a request field. */
export function placeFindings(field: string, findings: readonly Finding[]): Finding[] {
  return findings.map((finding) =>
    finding.path === '' && finding.code !== 'MORE_FINDINGS' ? { ...finding, path: field } : finding,
  );
}

/**
 * Runs work and converts a failure of the reader process to a finding. For responses that are not a job.
 * @param field field of the request or of the store that contains the location of the data
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
