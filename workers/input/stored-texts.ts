import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { HashedFile } from '#jobs/tasks/files.js';

/**
 * Parses a stored text.
 * @throws Refusal DOCUMENT_UNREADABLE if the text is missing or its content has changed
 */
export function readJson(file: HashedFile): unknown {
  return JSON.parse(new TextDecoder().decode(readStored(file)));
}

/** Reads the stored plan of a run. @throws Refusal DOCUMENT_UNREADABLE */
export function readPlan(file: HashedFile): BacktestPlan {
  return readJson(file) as BacktestPlan; // its hash matches the hash that the job wrote
}

/** Reads the bytes of a stored text. @throws Refusal DOCUMENT_UNREADABLE */
export function readStored({ path, sha256 }: HashedFile): Uint8Array<ArrayBuffer> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw refuseText(cause);
  }
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw refuseText();
  return bytes;
}

function refuseText(cause?: unknown): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    'The stored run cannot be read: its file is missing or its content has changed.',
    null,
    cause === undefined ? {} : { cause },
  );
}
