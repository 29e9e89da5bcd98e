// Philox 4x32-10 (Salmon, Moraes, Dror & Shaw (2011), SC'11): computes four random words from a counter and a key.

let key0: u32 = 0;
let key1: u32 = 0;
let counter0: u32 = 0;
let counter2: u32 = 0;
let counter3: u32 = 0;
let word0: u32 = 0;
let word1: u32 = 0;
let word2: u32 = 0;
let word3: u32 = 0;
let used: i32 = 4;

/** Starts the words of one stream. The seed is the key, and the stream is the upper half of the counter. */
export function startStream(seedLow: u32, seedHigh: u32, streamLow: u32, streamHigh: u32): void {
  key0 = seedLow;
  key1 = seedHigh;
  counter0 = 0;
  counter2 = streamLow;
  counter3 = streamHigh;
  used = 4;
}

/** Returns the next word of the stream. */
export function drawWord(): u32 {
  if (used == 4) {
    advance();
    used = 0;
  }
  const position = used++;
  return position == 0 ? word0 : position == 1 ? word1 : position == 2 ? word2 : word3;
}

function advance(): void {
  let c0 = counter0;
  let c1: u32 = 0;
  let c2 = counter2;
  let c3 = counter3;
  let k0 = key0;
  let k1 = key1;
  for (let round = 0; round < 10; round++) {
    const p0 = <u64>0xd2511f53 * <u64>c0;
    const p1 = <u64>0xcd9e8d57 * <u64>c2;
    c0 = <u32>(p1 >> 32) ^ c1 ^ k0;
    c1 = <u32>p1;
    c2 = <u32>(p0 >> 32) ^ c3 ^ k1;
    c3 = <u32>p0;
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  word0 = c0;
  word1 = c1;
  word2 = c2;
  word3 = c3;
  counter0++;
}
