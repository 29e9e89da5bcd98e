// Replaces `node:crypto` in the bundle: browsers provide SHA-256 only asynchronously.
import { createSha256 } from './sha256.js';

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export interface Hash {
  update(part: string | ArrayBufferView): Hash;
  digest(): Uint8Array;
  digest(encoding: 'hex'): string;
}

/** @param algorithm sha256, the only hash algorithm of the engine */
export function createHash(algorithm: string): Hash {
  if (algorithm !== 'sha256') throw new Error(`no hash ${algorithm}`);
  const sha = createSha256();
  const encoder = new TextEncoder();
  const hash: Hash = {
    update(part) {
      sha.update(
        typeof part === 'string' ? encoder.encode(part) : new Uint8Array(part.buffer, part.byteOffset, part.byteLength),
      );
      return hash;
    },
    digest(encoding?: 'hex') {
      const bytes = sha.digest();
      // the overloads guarantee the return type
      return (encoding === 'hex' ? Array.from(bytes, (byte) => HEX[byte]!).join('') : bytes) as Uint8Array & string;
    },
  };
  return hash;
}
