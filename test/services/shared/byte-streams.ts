interface StreamTerms {
  readonly autoAllocateChunkSize?: number;
  readonly onCancel?: () => void;
}

/** Returns bytes in chunks of one size. If the reader has its own buffer, the bytes are written to this buffer. */
export function createByteStream(
  bytes: Uint8Array,
  piece: number,
  { onCancel = () => {}, ...source }: StreamTerms = {},
): ReadableStream<Uint8Array> {
  let offset = 0;
  return new ReadableStream({
    type: 'bytes',
    ...source,
    pull(controller) {
      const part = bytes.slice(offset, offset + piece);
      offset += part.length;
      if (part.length > 0) return controller.enqueue(part);
      controller.close();
      controller.byobRequest?.respond(0); // notifies a reader that has its own buffer
    },
    cancel: onCancel,
  });
}

/** Reads a stream into a single buffer of a fixed size. The buffer is transferred back and forth. */
export async function readInto(stream: ReadableStream<Uint8Array>, room: number): Promise<Buffer> {
  const reader = stream.getReader({ mode: 'byob' });
  const parts: Uint8Array[] = [];
  for (let buffer = new ArrayBuffer(room); ;) {
    const { done, value } = await reader.read(new Uint8Array(buffer));
    if (done) return Buffer.concat(parts);
    parts.push(value.slice());
    buffer = value.buffer;
  }
}
