/** Bytes before and after the bytes of a stream. */
export interface Frame {
  readonly before: Uint8Array;
  /** Number of bytes at the start of the stream that are left out. */
  readonly skipped?: number;
  readonly after?: Uint8Array;
}

/** Size in bytes of the buffer if the reader provides none. */
const CHUNK_BYTES = 256 * 1024;

const NO_BYTES = new Uint8Array(0);

/**
 * Returns a stream with bytes before and after it. The bytes are written directly into the reader's buffer.
 * @param innerStream byte stream of a file or blob
 */
export function frameStream(
  innerStream: ReadableStream<Uint8Array>,
  { before, skipped = 0, after = NO_BYTES }: Frame,
): ReadableStream<Uint8Array> {
  const reader = innerStream.getReader({ mode: 'byob' });
  let sentBytes = 0;
  let skippableBytes = skipped;
  let hasEnded = false;

  function endIn(controller: ReadableByteStreamController, buffer: Uint8Array<ArrayBuffer>): void {
    const from = sentBytes - before.length;
    const part = after.subarray(from, from + buffer.length);
    buffer.set(part);
    sentBytes += part.length;
    const isLast = from + part.length === after.length;
    if (isLast && part.length === 0) controller.close();
    controller.byobRequest!.respondWithNewView(buffer.subarray(0, part.length));
    if (isLast && part.length > 0) controller.close();
  }

  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      const request = controller.byobRequest!; // Memory is allocated for readers that provide no buffer.
      const { buffer, byteOffset, byteLength } = request.view! as Uint8Array<ArrayBuffer>;
      const remainder = new Uint8Array(buffer, byteOffset, byteLength);
      if (sentBytes < before.length) {
        const part = before.subarray(sentBytes, sentBytes + byteLength);
        remainder.set(part);
        sentBytes += part.length;
        request.respond(part.length);
        return;
      }
      if (hasEnded) return endIn(controller, remainder);
      while (skippableBytes > 0)
        skippableBytes -= (await reader.read(new Uint8Array(skippableBytes))).value?.length || skippableBytes;
      const { done, value } = await reader.read(remainder);
      if (value === undefined) return; // the stream was cancelled meanwhile
      hasEnded = done;
      if (done) endIn(controller, new Uint8Array(value.buffer, byteOffset, byteLength));
      else request.respondWithNewView(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
