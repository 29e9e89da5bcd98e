import type { JobKindName } from '#domain/jobs/job-kinds.js';
import { UsageError } from '../usage-error.js';

/** Parses a kind of job. @param name name of the word or flag, for the error @throws UsageError */
export async function requireKind(name: string, text: string): Promise<JobKindName> {
  // Loaded only when needed: the job kinds import every payload.
  const { JOB_KINDS } = await import('#domain/jobs/job-kinds.js');
  const kind = JOB_KINDS.find((jobKind) => jobKind === text.trim());
  if (kind === undefined) throw new UsageError(`${name} must be one of ${JOB_KINDS.join(', ')}, not ${text}`);
  return kind;
}
