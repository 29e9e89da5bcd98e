/** Bytes that are made as they are written, so that they are nowhere as a whole. */
export interface MadeBytes {
  /** Of all parts. */
  readonly length: number;
  /** From the first on. Each is read before the next is asked for, which may take its memory. */
  parts(): Iterable<Uint8Array<ArrayBuffer>>;
}

/** Bytes that are made in parts, as a whole. @param memory for them, in place of new one */
export function wholeOf(
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
