import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { createCounterRandom, computePhilox } from '#kernels/random/counter-random.js';

/** Known answers of Philox 4x32-10. They are in kat_vectors of the authors' Random123 distribution. */
const KNOWN_ANSWERS = [
  { counter: [0, 0, 0, 0], key: [0, 0], words: [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8] },
  {
    counter: [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    key: [0xffffffff, 0xffffffff],
    words: [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  },
  {
    counter: [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    key: [0xa4093822, 0x299f31d0],
    words: [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  },
];

describe('philox', () => {
  test.each(KNOWN_ANSWERS)('gives the known answer for counter $counter', ({ counter, key, words }) => {
    const out = new Uint32Array(4);
    computePhilox(Uint32Array.from(counter), Uint32Array.from(key), out);
    expect([...out]).toEqual(words);
  });
});

describe('createCounterRandom', () => {
  test('depends only on the key and differs between streams and seeds', () => {
    const drawFirst = (seed: number, stream: number) => createCounterRandom({ seed, stream }).uniform();
    expect(drawFirst(7, 3)).toBe(drawFirst(7, 3));
    expect(
      new Set([drawFirst(7, 3), drawFirst(7, 4), drawFirst(8, 3), drawFirst(7, 3 + 2 ** 32), drawFirst(7 + 2 ** 32, 3)])
        .size,
    ).toBe(5);
  });

  test('is uniform: mean 1/2 and variance 1/12 within five standard errors', () => {
    const random = createCounterRandom({ seed: 1, stream: 0 });
    const n = 200_000;
    let total = 0;
    let squares = 0;
    let outsideCount = 0;
    for (let k = 0; k < n; k++) {
      const u = random.uniform();
      if (u <= 0 || u >= 1) outsideCount++;
      total += u;
      squares += u * u;
    }
    expect(outsideCount).toBe(0);
    const mean = total / n;
    expect(Math.abs(mean - 0.5)).toBeLessThan(5 * Math.sqrt(1 / 12 / n));
    expect(Math.abs(squares / n - mean * mean - 1 / 12)).toBeLessThan(5 * Math.sqrt(1 / 180 / n));
  });

  test('is standard normal in its first four moments', () => {
    const random = createCounterRandom({ seed: 2, stream: 5 });
    const n = 200_000;
    const moments = [0, 0, 0, 0];
    for (let k = 0; k < n; k++) {
      const z = random.normal();
      for (let power = 0, term = z; power < 4; power++, term *= z) moments[power]! += term / n;
    }
    const spread = [1, 2, 15, 96]; // variances of z, z^2, z^3, z^4
    [0, 1, 0, 3].forEach((expected, power) => {
      expect(Math.abs(moments[power]! - expected)).toBeLessThan(5 * Math.sqrt(spread[power]! / n));
    });
  });

  test('draws every integer below the bound with equal probability', () => {
    const random = createCounterRandom({ seed: 3, stream: 0 });
    const counts = new Float64Array(7);
    for (let k = 0; k < 70_000; k++) counts[random.integer(7)]!++;
    const chi2 = counts.reduce((total, count) => total + (count - 10_000) ** 2 / 10_000, 0);
    expect(chi2).toBeLessThan(30); // with six degrees of freedom, above 30 once in 25,000 seeds
  });

  test('refuses invalid keys and bounds', () => {
    expect(() => createCounterRandom({ seed: -1, stream: 0 })).toThrow(KernelFault);
    expect(() => createCounterRandom({ seed: 0, stream: 0.5 })).toThrow(KernelFault);
    expect(() => createCounterRandom({ seed: 0, stream: 0 }).integer(0)).toThrow(KernelFault);
  });
});
