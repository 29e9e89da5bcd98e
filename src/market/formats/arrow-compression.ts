import { closeSync, openSync, readSync } from 'node:fs';
import { CompressionType, MessageReader, type Message } from 'apache-arrow';

/**
 * Number of bytes that are read for the first messages of a stream. These messages are its schema and the metadata of a
 * batch.
 */
const HEAD_BYTES = 4 << 20;

/**
 * Returns true if the first batch of an Arrow stream uses an unsupported compression. Returns false if its metadata is
 * not within the first 4 MiB.
 */
export function isUnreadCompression(path: string): boolean {
  const messages = new MessageReader(readHead(path));
  try {
    for (const message of messages) if (!message.isSchema()) return isCompressed(message);
  } catch {
    // errors of the stream are reported by its reader
  }
  return false;
}

function isCompressed(message: Message): boolean {
  const batch = message.isRecordBatch() ? message.header() : message.isDictionaryBatch() ? message.header().data : null;
  return (batch?.compression?.type ?? CompressionType.LZ4_FRAME) !== CompressionType.LZ4_FRAME;
}

function readHead(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const headBytes = new Uint8Array(HEAD_BYTES);
    return headBytes.subarray(0, readSync(file, headBytes));
  } finally {
    closeSync(file);
  }
}
