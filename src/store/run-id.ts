import { createHash } from 'node:crypto';
import type { RunDocument } from '#domain/documents/run-document.js';

/** Number of hexadecimal digits of a run id: 64 bits. */
const ID_DIGITS = 16;

/** Returns the id of a run. It is a hash over its subject and the name of its columns file, which is never reused. */
export function computeRunId({
  run_id: subject,
  artifacts,
}: {
  readonly run_id: string;
  readonly artifacts: { readonly columns: Pick<RunDocument['artifacts']['columns'], 'name'> };
}): string {
  return createHash('sha256').update(`${subject} ${artifacts.columns.name}`).digest('hex').slice(0, ID_DIGITS);
}
