/** Bytes that are produced while they are written, and never exist as a whole. */
export interface MadeBytes {
  /** Total length of all parts. */
  readonly length: number;
  /** Yields the parts in order. Each must be read before the next is requested, which may reuse its memory. */
  parts(): Iterable<Uint8Array<ArrayBuffer>>;
}

/** Returns the bytes of all parts as a whole. @param memory to use instead of new memory */
export function joinBytes(
  made: MadeBytes,
  memory: ArrayBufferLike = new ArrayBuffer(made.length),
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(memory as ArrayBuffer, 0, made.length); // File functions accept shared memory too.
  let at = 0;
  for (const part of made.parts()) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
