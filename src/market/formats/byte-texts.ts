/**
 * Minimum and maximum number of slots of a dictionary, powers of two. The dictionary starts small, because most files
 * are small, and grows. When three quarters of the maximum are used, further texts are not cached.
 */
const SLOTS_MIN = 1 << 8;
const SLOTS_MAX = 1 << 16;

/**
 * Returns a function that caches values by the bytes of their spelling. Each text is therefore decoded once. A spelling
 * without a value is looked up each time, because each occurrence gives a finding.
 */
export function createByteTexts(
  meaning: (bytes: Uint8Array, start: number, end: number) => number | undefined,
): (bytes: Uint8Array, start: number, end: number) => number | undefined {
  let slots = SLOTS_MIN;
  let spellings: (Uint8Array | undefined)[] = Array.from({ length: slots });
  let values = new Int32Array(slots);
  let filledSlots = 0;

  function grow(): void {
    const [before, numbers] = [spellings, values];
    slots *= 2;
    spellings = Array.from({ length: slots });
    values = new Int32Array(slots);
    before.forEach((spelling, i) => {
      if (spelling === undefined) return;
      let slot = findFirstSlot(spelling, 0, spelling.length, slots);
      while (spellings[slot] !== undefined) slot = (slot + 1) & (slots - 1);
      spellings[slot] = spelling;
      values[slot] = numbers[i]!;
    });
  }

  return (bytes, start, end) => {
    let slot = findFirstSlot(bytes, start, end, slots);
    for (;;) {
      const spelling = spellings[slot];
      if (spelling === undefined) break;
      if (spelling.length === end - start && hasBytesAt(spelling, bytes, start)) return values[slot];
      slot = (slot + 1) & (slots - 1);
    }
    const value = meaning(bytes, start, end);
    if (value !== undefined && filledSlots < slots * 0.75) {
      spellings[slot] = bytes.slice(start, end);
      values[slot] = value;
      filledSlots += 1;
      if (filledSlots >= slots * 0.75 && slots < SLOTS_MAX) grow();
    }
    return value;
  };
}

function findFirstSlot(bytes: Uint8Array, start: number, end: number, slots: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return (hash ^ (hash >>> 16)) & (slots - 1);
}

function hasBytesAt(spelling: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < spelling.length; i++) if (spelling[i] !== bytes[start + i]) return false;
  return true;
}
