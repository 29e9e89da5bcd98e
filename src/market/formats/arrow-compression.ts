import { closeSync, openSync, readSync } from 'node:fs';
import { MessageReader, type Message } from 'apache-arrow';

/** Bytes read for the first messages of a stream: its schema, and the metadata of a batch. */
const HEAD_BYTES = 4 << 20;

/**
 * Whether the batches of an Arrow stream are compressed, as its first one says; false where that is not seen in the
 * first 4 MiB.
 */
export function isCompressedArrow(path: string): boolean {
  const messages = new MessageReader(headOf(path));
  try {
    for (const message of messages) if (!message.isSchema()) return isCompressed(message);
  } catch {
    // What is wrong with a stream is told by its reader.
  }
  return false;
}

function isCompressed(message: Message): boolean {
  if (message.isRecordBatch()) return message.header().compression !== null;
  return message.isDictionaryBatch() && message.header().data.compression !== null;
}

function headOf(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const head = new Uint8Array(HEAD_BYTES);
    return head.subarray(0, readSync(file, head));
  } finally {
    closeSync(file);
  }
}
