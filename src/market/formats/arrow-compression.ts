import { closeSync, openSync, readSync } from 'node:fs';
import { CompressionType, MessageReader, type Message } from 'apache-arrow';

/** Bytes read for the first messages of a stream: its schema, and the metadata of a batch. */
const HEAD_BYTES = 4 << 20;

/**
 * Whether the batches of an Arrow stream are compressed by what is not read, as its first one says; false where that is
 * not seen in the first 4 MiB.
 */
export function isUnreadCompression(path: string): boolean {
  const messages = new MessageReader(headOf(path));
  try {
    for (const message of messages) if (!message.isSchema()) return isCompressed(message);
  } catch {
    // What is wrong with a stream is told by its reader.
  }
  return false;
}

function isCompressed(message: Message): boolean {
  const batch = message.isRecordBatch() ? message.header() : message.isDictionaryBatch() ? message.header().data : null;
  return (batch?.compression?.type ?? CompressionType.LZ4_FRAME) !== CompressionType.LZ4_FRAME;
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
