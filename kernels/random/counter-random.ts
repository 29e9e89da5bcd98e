import { assert, KernelFault } from '../assert.js';
import { computeNormalQuantile } from './normal-distribution.js';

/** Key of a stream of random numbers. Equal keys give equal numbers on every machine, in any order of use. */
export interface RandomKey {
  /** Seed of the request, an integer of at most 53 bits. */
  readonly seed: number;
  /** Stream within the seed (a path, a chunk, a security), an integer of at most 53 bits. */
  readonly stream: number;
}

/** Random numbers of one stream, drawn in order. */
export interface CounterRandom {
  /** Returns a uniform number in (0, 1), never 0 or 1: the midpoint of one of 2^52 equal cells. */
  uniform(): number;
  /** Returns a standard normal number by inversion, from one uniform. */
  normal(): number;
  /** Returns a uniform integer in [0, bound); bound is at most 2^32. */
  integer(bound: number): number;
}

const WORD_VALUES = 2 ** 32;

/**
 * Creates a stream of random numbers that depend only on the key and the position in the stream. Any number of workers
 * can therefore share the work.
 * @param key  Seed and stream.
 * @returns    Stream at its first number.
 * @throws     KernelFault if a member of the key is not a safe integer of at least 0.
 * @cost       About 50 ns per two uniforms; four words of state.
 * @source     Salmon, Moraes, Dror & Shaw (2011), Parallel random numbers: as easy as 1, 2, 3, SC'11: Philox 4x32-10.
 */
export function createCounterRandom(key: RandomKey): CounterRandom {
  const { seed, stream } = key;
  assert(Number.isSafeInteger(seed) && seed >= 0, `seed: ${seed}, an integer of at least 0 needed`);
  assert(Number.isSafeInteger(stream) && stream >= 0, `stream: ${stream}, an integer of at least 0 needed`);
  const counter = Uint32Array.of(0, 0, stream % WORD_VALUES, Math.floor(stream / WORD_VALUES));
  const keys = Uint32Array.of(seed % WORD_VALUES, Math.floor(seed / WORD_VALUES));
  const words = new Uint32Array(4);
  let usedWords = 4;

  function drawWord(): number {
    if (usedWords === 4) {
      computePhilox(counter, keys, words);
      usedWords = 0;
      counter[0]!++;
      if (counter[0] === 0) counter[1]!++;
    }
    return words[usedWords++]!;
  }

  function drawUniform(): number {
    const high = drawWord();
    const low = drawWord();
    return (high * 2 ** 20 + (low >>> 12) + 0.5) / 2 ** 52;
  }

  return {
    uniform: drawUniform,
    normal: () => computeNormalQuantile(drawUniform()),
    integer(bound) {
      if (!(bound >= 1 && bound <= WORD_VALUES)) throw new KernelFault(`bound: ${bound}, 1 to 2^32 needed`);
      const fairLimit = WORD_VALUES - (WORD_VALUES % bound);
      for (;;) {
        const value = drawWord();
        if (value < fairLimit) return value % bound;
      }
    },
  };
}

/**
 * Computes one block of Philox 4x32-10: four random words from a counter and a key.
 *
 * @param counter  [4] words; not changed.
 * @param key      [2] words; not changed.
 * @param out      [4] words, overwritten.
 * @throws         KernelFault on a shape mismatch.
 * @cost           20 products of 32 x 32 bits.
 * @source         Salmon, Moraes, Dror & Shaw (2011), SC'11, section 4.2.
 */
export function computePhilox(counter: Uint32Array, key: Uint32Array, out: Uint32Array): void {
  if (counter.length !== 4 || key.length !== 2 || out.length !== 4)
    throw new KernelFault(`counter ${counter.length}, key ${key.length}, out ${out.length} words`);
  let c0 = counter[0]! | 0;
  let c1 = counter[1]! | 0;
  let c2 = counter[2]! | 0;
  let c3 = counter[3]! | 0;
  let k0 = key[0]! | 0;
  let k1 = key[1]! | 0;
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(0xd2511f53, c0);
    const low0 = Math.imul(0xd2511f53, c0);
    const high1 = multiplyHigh(0xcd9e8d57, c2);
    const low1 = Math.imul(0xcd9e8d57, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** Returns the upper word of the product of two unsigned words, computed from 16-bit halves. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = Math.imul(aHigh, bLow) >>> 0;
  const carry = (((Math.imul(aLow, bLow) >>> 16) + (middle & 0xffff)) >>> 0) + (Math.imul(aLow, bHigh) >>> 0);
  return (Math.imul(aHigh, bHigh) + (middle >>> 16) + Math.floor(carry / 0x10000)) | 0;
}
