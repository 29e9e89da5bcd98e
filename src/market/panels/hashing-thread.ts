import { parentPort } from 'node:worker_threads';
import { digestFiles, type SourceDigest } from '../formats/source-file.js';
import { createBlockDigests } from './panels.js';
import type { HashingOrder, HashingResult } from './hashing.js';

/** Entry point of a thread that hashes data while another thread reads it. */

let panels: { readonly turn: number; readonly digestOf: (block: number) => Uint8Array } | undefined;

parentPort!.on('message', (order: HashingOrder) => void perform(order));

async function perform(order: HashingOrder): Promise<void> {
  if (order.kind === 'panels') panels = { turn: order.turn, digestOf: createBlockDigests(order.panels) };
  else if (order.kind === 'block')
    answer({ kind: 'block', turn: panels!.turn, block: order.block, digest: panels!.digestOf(order.block) });
  else answer(await hash(order.files));
}

async function hash(files: Extract<HashingOrder, { kind: 'files' }>['files']): Promise<HashingResult> {
  const digests: SourceDigest[] = [];
  try {
    await digestFiles(files, digests);
    return { kind: 'files', digests };
  } catch (failure) {
    return { kind: 'unread', message: failure instanceof Error ? failure.message : String(failure) };
  }
}

function answer(message: HashingResult): void {
  parentPort!.postMessage(message, []);
}
