import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Task } from '#jobs/tasks.js';
import type { HashedFile } from '#jobs/tasks/files.js';
import { upgradedResult } from '#views/run-json.js';
import { answerBytes } from '../output/hand-over.js';

/** The result of a backtest that an earlier version stored, with the members of today. */
export const upgradeResult: Task<'upgrade-result'> = async (file) =>
  answerBytes(JSON.stringify(upgradedResult(readJson(file))));

/**
 * The value of a stored text.
 * @throws Refusal DOCUMENT_UNREADABLE when it is gone or has another content than was written
 */
export function readJson({ path, sha256 }: HashedFile): unknown {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw unreadable(cause);
  }
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw unreadable();
  return JSON.parse(new TextDecoder().decode(bytes));
}

function unreadable(cause?: unknown): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    'The stored run cannot be read: its file is gone or has another content than was written.',
    null,
    cause === undefined ? {} : { cause },
  );
}
