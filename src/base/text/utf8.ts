/** Decodes UTF-8. Bytes in shared memory are copied first, because browsers decode only other memory. */
export const decodeUtf8 = (bytes: Uint8Array): string =>
  new TextDecoder().decode(bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice());
