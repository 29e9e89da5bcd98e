/** Slots of a byte dictionary, a power of two; beyond three quarters the texts are looked up one by one. */
const SLOTS = 1 << 16;

/**
 * What each spelling of a text stands for, found by its bytes so that a text is decoded once.
 * A spelling that stands for nothing is asked for again each time, because each time is a finding.
 */
export function createByteTexts(
  meaning: (bytes: Uint8Array, start: number, end: number) => number | undefined,
): (bytes: Uint8Array, start: number, end: number) => number | undefined {
  const spellings: (Uint8Array | undefined)[] = Array.from({ length: SLOTS });
  const values = new Int32Array(SLOTS);
  let held = 0;
  return (bytes, start, end) => {
    let hash = 0x811c9dc5;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
    let slot = (hash ^ (hash >>> 16)) & (SLOTS - 1);
    for (;;) {
      const known = spellings[slot];
      if (known === undefined) break;
      if (known.length === end - start && sameBytes(known, bytes, start)) return values[slot];
      slot = (slot + 1) & (SLOTS - 1);
    }
    const value = meaning(bytes, start, end);
    if (value !== undefined && held < SLOTS * 0.75) {
      spellings[slot] = bytes.slice(start, end);
      values[slot] = value;
      held += 1;
    }
    return value;
  };
}

function sameBytes(known: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[start + i]) return false;
  return true;
}
