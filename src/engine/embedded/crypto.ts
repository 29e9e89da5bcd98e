/** Bytes of a block, and 32-bit words of its message schedule. */
const BLOCK = 64;
const WORDS = 64;

/**
 * First 32 bits of the fractional parts of roots. `K` has the cube roots of the first 64 primes, `H` the square roots
 * of the first 8.
 */
const { K, H } = computeConstants();

/** Hash that receives its input in parts. @source FIPS 180-4 */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** Returns the 32 bytes of the hash, which accepts no further input. */
  digest(): Uint8Array<ArrayBuffer>;
}

/** @cost about 150 MB/s */
function createSha256(): Sha256 {
  const state = Int32Array.from(H);
  const schedule = new Int32Array(WORDS);
  const block = new Uint8Array(BLOCK);
  let filledLength = 0;
  let length = 0;

  function update(bytes: Uint8Array): void {
    length += bytes.length;
    let offset = 0;
    if (filledLength > 0) {
      offset = Math.min(BLOCK - filledLength, bytes.length);
      block.set(bytes.subarray(0, offset), filledLength);
      filledLength += offset;
      if (filledLength < BLOCK) return;
      compress(state, schedule, block, 0);
    }
    for (; offset + BLOCK <= bytes.length; offset += BLOCK) compress(state, schedule, bytes, offset);
    block.set(bytes.subarray(offset), 0);
    filledLength = bytes.length - offset;
  }

  return {
    update,
    digest() {
      const bits = length * 8;
      const paddedBlock = new Uint8Array(filledLength < BLOCK - 8 ? BLOCK - filledLength : 2 * BLOCK - filledLength);
      paddedBlock[0] = 0x80;
      const view = new DataView(paddedBlock.buffer);
      view.setUint32(paddedBlock.length - 8, Math.floor(bits / 2 ** 32));
      view.setUint32(paddedBlock.length - 4, bits % 2 ** 32);
      update(paddedBlock);
      const digest = new Uint8Array(4 * state.length);
      const digestView = new DataView(digest.buffer);
      state.forEach((word, i) => digestView.setInt32(4 * i, word));
      return digest;
    },
  };
}

/** Adds one block to the state. */
function compress(state: Int32Array, w: Int32Array, bytes: Uint8Array, offset: number): void {
  for (let i = 0; i < 16; i++, offset += 4)
    w[i] = (bytes[offset]! << 24) | (bytes[offset + 1]! << 16) | (bytes[offset + 2]! << 8) | bytes[offset + 3]!;
  for (let i = 16; i < WORDS; i++) {
    const [x, y] = [w[i - 15]!, w[i - 2]!];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0;
  }
  let [a, b, c, d] = [state[0]!, state[1]!, state[2]!, state[3]!];
  let [e, f, g, h] = [state[4]!, state[5]!, state[6]!, state[7]!];
  for (let i = 0; i < WORDS; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i]! + w[i]!) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i]! + word) | 0));
}

/** Computes the constants from integer roots. Integer roots determine the bits exactly, without rounding. */
function computeConstants(): { readonly K: Int32Array; readonly H: Int32Array } {
  const primes: bigint[] = [];
  for (let n = 2n; primes.length < WORDS; n++) if (primes.every((prime) => n % prime !== 0n)) primes.push(n);
  const computeFraction = (prime: bigint, power: bigint): number =>
    Number(BigInt.asIntN(32, computeRoot(prime << (32n * power), power)));
  return {
    K: Int32Array.from(primes, (prime) => computeFraction(prime, 3n)),
    H: Int32Array.from(primes.slice(0, 8), (prime) => computeFraction(prime, 2n)),
  };
}

/** Returns the largest integer whose power is at most a value. */
function computeRoot(value: bigint, power: bigint): bigint {
  let low = 0n;
  let high = 1n << 40n;
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (middle ** power <= value) low = middle;
    else high = middle - 1n;
  }
  return low;
}

// Replaces `node:crypto` in the bundle: browsers provide SHA-256 only asynchronously.

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
