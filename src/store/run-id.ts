import { createHash } from 'node:crypto';
import type { RunDocument } from '#domain/documents/run-document.js';

/** Hexadecimal digits of a run's id: 64 bits. */
const ID_DIGITS = 16;

/** The id of a run: that of its file of columns, whose name is never used again. */
export function runIdOf({
  run_id: subject,
  artifacts,
}: {
  readonly run_id: string;
  readonly artifacts: { readonly columns: Pick<RunDocument['artifacts']['columns'], 'name'> };
}): string {
  return createHash('sha256').update(`${subject} ${artifacts.columns.name}`).digest('hex').slice(0, ID_DIGITS);
}
