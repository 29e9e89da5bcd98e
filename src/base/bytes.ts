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
  producedBytes: ProducedBytes,
  memory: ArrayBufferLike = new ArrayBuffer(producedBytes.length),
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(memory as ArrayBuffer, 0, producedBytes.length); // file functions also accept shared memory
  let offset = 0;
  for (const part of producedBytes.parts()) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Returns bytes that a browser can decode as text: bytes in shared memory are copied, because it refuses them. */
export const toDecodable = (bytes: Uint8Array): Uint8Array =>
  bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice();

export const decodeUtf8 = (bytes: Uint8Array): string => new TextDecoder().decode(toDecodable(bytes));
