/** Digits of half a key: lowest bit and number of bits. */
const DIGITS = [
  [0, 11],
  [11, 11],
  [22, 10],
] as const;

const SIGN = 0x80000000;

/**
 * Returns positions sorted by ascending keys; the sort is stable. It is a radix sort of the bits of the keys, which are
 * first transformed so that their order is that of the numbers.
 * @param keys [n] without -0 and NaN
 * @param positions [n] or longer
 * @returns [n]
 * @cost O(n), six passes of 3 ns per key
 */
export function sortByBits(keys: Float64Array, positions: Int32Array): Int32Array {
  const count = keys.length;
  const halves = new Uint32Array(keys.slice().buffer); // low word before high word
  const [low, high] = [new Uint32Array(count), new Uint32Array(count)];
  let from = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const top = halves[2 * i + 1]!;
    const isNegative = top >= SIGN;
    high[i] = isNegative ? ~top : top | SIGN;
    low[i] = isNegative ? ~halves[2 * i]! : halves[2 * i]!;
    from[i] = i;
  }
  let to = new Int32Array(count);
  for (const half of [low, high])
    for (const [shift, width] of DIGITS)
      if (sortByDigit(half, { shift, mask: (1 << width) - 1 }, from, to)) [from, to] = [to, from];
  for (let i = 0; i < count; i++) to[i] = positions[from[i]!]!;
  return to;
}

/** Sorts by one digit. @returns false, without changes, if all keys have an equal digit */
function sortByDigit(
  half: Uint32Array,
  { shift, mask }: { readonly shift: number; readonly mask: number },
  from: Int32Array,
  to: Int32Array,
): boolean {
  const count = half.length;
  const ends = new Int32Array(mask + 2);
  for (let i = 0; i < count; i++) ends[((half[i]! >>> shift) & mask) + 1]! += 1;
  if (ends[((half[0]! >>> shift) & mask) + 1] === count) return false;
  for (let digit = 1; digit <= mask; digit++) ends[digit]! += ends[digit - 1]!;
  for (let i = 0; i < count; i++) {
    const position = from[i]!;
    to[ends[(half[position]! >>> shift) & mask]!++] = position;
  }
  return true;
}
