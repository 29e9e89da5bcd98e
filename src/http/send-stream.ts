import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { StreamedReply } from './reply.js';

/** Room of one answer: large enough that 20 MB take 80 reads, small enough for 1,000 slow readers. */
const ROOM_BYTES = 256 * 1024;

/**
 * Sends a stream of bytes through one piece of memory, read into again when all in it has gone to the system: chunks of
 * their own would collect, up to the 32 MiB of buffers after which V8 looks for those nobody holds.
 * @returns undefined when the stream is not one of bytes
 */
export function sendStream(
  { status, headers, stream }: StreamedReply,
  outgoing: ServerResponse,
): Promise<void> | undefined {
  const reader = byobReader(stream);
  if (reader === undefined) return undefined;
  outgoing.writeHead(status, headers);
  return send(reader, outgoing);
}

async function send(reader: ReadableStreamBYOBReader, outgoing: ServerResponse): Promise<void> {
  const closed = once(outgoing, 'close')
    .then(() => reader.cancel())
    .catch(() => undefined); // Reading tells what failed.
  let room = new ArrayBuffer(ROOM_BYTES);
  try {
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(room));
      if (outgoing.closed) return;
      if (done) break;
      await Promise.race([written(outgoing, value), closed]); // Bytes that can no longer be sent are never reported as written.
      if (outgoing.closed) return;
      room = value.buffer;
    }
    outgoing.end();
  } catch (failure) {
    outgoing.destroy(failure instanceof Error ? failure : undefined);
  }
}

function written(outgoing: ServerResponse, part: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    outgoing.write(part, (failure) => (failure ? reject(failure) : resolve()));
  });
}

function byobReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch {
    return undefined; // Streams do not tell otherwise whether they are of bytes.
  }
}
