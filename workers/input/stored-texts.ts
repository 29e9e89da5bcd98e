import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { HashedFile } from '#jobs/tasks/files.js';

/**
 * The value of a stored text.
 * @throws Refusal DOCUMENT_UNREADABLE when it is gone or has another content than was written
 */
export function readJson(file: HashedFile): unknown {
  return JSON.parse(new TextDecoder().decode(readStored(file)));
}

/** The stored plan of a run. @throws Refusal DOCUMENT_UNREADABLE */
export function planIn(file: HashedFile): BacktestPlan {
  return readJson(file) as BacktestPlan; // Its hash is that of what the job wrote.
}

/** The bytes of a stored text. @throws Refusal DOCUMENT_UNREADABLE */
export function readStored({ path, sha256 }: HashedFile): Uint8Array<ArrayBuffer> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw unreadable(cause);
  }
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw unreadable();
  return bytes;
}

function unreadable(cause?: unknown): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    'The stored run cannot be read: its file is gone or has another content than was written.',
    null,
    cause === undefined ? {} : { cause },
  );
}
