/** Bytes that are produced in parts while they are written, and are never in memory as a whole. */
export interface ProducedBytes {
  /** Total length of all parts. */
  readonly length: number;
  /**
   * Yields the parts in order. Each part must be read before the next is requested, because the next may reuse its
   * memory.
   */
  parts(): Iterable<Uint8Array<ArrayBuffer>>;
}

/** Returns all parts as one array. @param memory used instead of new memory */
export function joinBytes(
  made: ProducedBytes,
  memory: ArrayBufferLike = new ArrayBuffer(made.length),
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(memory as ArrayBuffer, 0, made.length); // file functions also accept shared memory
  let at = 0;
  for (const part of made.parts()) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
