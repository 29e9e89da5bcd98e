/** Powers of ten from 10^-292 to 10^324, 128 bits each, high half first. */
const POWER_MIN: i32 = -292;

/** Texts of 00 to 99. */
const PAIRS: usize = memory.data<u8>([
  48, 48, 48, 49, 48, 50, 48, 51, 48, 52, 48, 53, 48, 54, 48, 55, 48, 56, 48, 57,
  49, 48, 49, 49, 49, 50, 49, 51, 49, 52, 49, 53, 49, 54, 49, 55, 49, 56, 49, 57,
  50, 48, 50, 49, 50, 50, 50, 51, 50, 52, 50, 53, 50, 54, 50, 55, 50, 56, 50, 57,
  51, 48, 51, 49, 51, 50, 51, 51, 51, 52, 51, 53, 51, 54, 51, 55, 51, 56, 51, 57,
  52, 48, 52, 49, 52, 50, 52, 51, 52, 52, 52, 53, 52, 54, 52, 55, 52, 56, 52, 57,
  53, 48, 53, 49, 53, 50, 53, 51, 53, 52, 53, 53, 53, 54, 53, 55, 53, 56, 53, 57,
  54, 48, 54, 49, 54, 50, 54, 51, 54, 52, 54, 53, 54, 54, 54, 55, 54, 56, 54, 57,
  55, 48, 55, 49, 55, 50, 55, 51, 55, 52, 55, 53, 55, 54, 55, 55, 55, 56, 55, 57,
  56, 48, 56, 49, 56, 50, 56, 51, 56, 52, 56, 53, 56, 54, 56, 55, 56, 56, 56, 57,
  57, 48, 57, 49, 57, 50, 57, 51, 57, 52, 57, 53, 57, 54, 57, 55, 57, 56, 57, 57,
]);

const ZERO: u8 = 48;
const POINT: u8 = 46;
const MINUS: u8 = 45;
const PLUS: u8 = 43;
const COMMA: u8 = 44;
const EXPONENT: u8 = 101;

/**
 * Writes numbers with commas between them. @param powers address of the table of powers.
 * @returns the address behind the text, 0 when a number is not finite
 */
export function writeNumbers(values: usize, count: i32, at: usize, powers: usize): usize {
  for (let i = 0; i < count; i++) {
    if (i > 0) store<u8>(at++, COMMA);
    at = writeNumber(load<f64>(values), at, powers);
    if (at == 0) return 0;
    values += 8;
  }
  return at;
}

/**
 * Writes the shortest decimal text that reads back to the number, in the form of ECMAScript; zero of either sign is 0.
 * At most 25 bytes. @returns the address behind the text, 0 when the number is not finite
 */
export function writeNumber(value: f64, at: usize, powers: usize): usize {
  const bits = reinterpret<u64>(value);
  const biased = <i32>((bits >> 52) & 0x7ff);
  const fraction = bits & 0xfffffffffffff;
  if (biased == 0x7ff) return 0;
  if (biased == 0 && fraction == 0) {
    store<u8>(at, ZERO);
    return at + 1;
  }
  if (<i64>bits < 0) store<u8>(at++, MINUS);

  const hidden = biased == 0 ? fraction : fraction | 0x10000000000000;
  const q = biased == 0 ? -1074 : biased - 1075;
  if (q <= 0 && q > -53 && (hidden & ((<u64>1 << <u64>-q) - 1)) == 0) return writeDecimal(hidden >> <u64>-q, 0, at);
  return shortest(hidden, q, fraction == 0 && biased > 1, at, powers);
}

/** The shortest decimal in the rounding interval of c 2^q. @source R. Giulietti, The Schubfach way to render doubles, 2021 */
function shortest(c: u64, q: i32, lowerIsCloser: bool, at: usize, powers: usize): usize {
  const odd = c & 1;
  const k = lowerIsCloser ? (q * 1262611 - 524031) >> 22 : (q * 1262611) >> 22;
  const h = <u64>(q + ((-k * 1741647) >> 19) + 1);
  const power = powers + (<usize>(-k - POWER_MIN) << 4);
  const high = load<u64>(power);
  const low = load<u64>(power, 8);
  const center = c << 2;
  const lower = roundToOdd(high, low, (center - (lowerIsCloser ? 1 : 2)) << h) + odd;
  const middle = roundToOdd(high, low, center << h);
  const upper = roundToOdd(high, low, (center + 2) << h) - odd;

  const s = middle >> 2;
  if (s >= 10) {
    const tens = s / 10;
    const below = lower <= 40 * tens;
    const above = 40 * tens + 40 <= upper;
    if (below != above) return writeDecimal(tens + (above ? 1 : 0), k + 1, at);
  }
  const below = lower <= s << 2;
  const above = (s << 2) + 4 <= upper;
  if (below != above) return writeDecimal(s + (above ? 1 : 0), k, at);
  const half = (s << 2) + 2;
  const up = middle > half || (middle == half && (s & 1) != 0);
  return writeDecimal(s + (up ? 1 : 0), k, at);
}

/** High part of a 128 by 64 bit product, with a sticky last bit. */
@inline
function roundToOdd(high: u64, low: u64, cp: u64): u64 {
  const carry = mulHigh(low, cp);
  const first = high * cp;
  const sum = first + carry;
  return (mulHigh(high, cp) + (sum < first ? 1 : 0)) | (sum > 1 ? 1 : 0);
}

@inline
function mulHigh(a: u64, b: u64): u64 {
  const a0 = a & 0xffffffff;
  const a1 = a >> 32;
  const b0 = b & 0xffffffff;
  const b1 = b >> 32;
  const p01 = a0 * b1;
  const p10 = a1 * b0;
  const mid = ((a0 * b0) >> 32) + (p01 & 0xffffffff) + (p10 & 0xffffffff);
  return a1 * b1 + (p01 >> 32) + (p10 >> 32) + (mid >> 32);
}

/** Writes digits x 10^k as ECMAScript does: plain from 1e-6 up to below 1e21, with an exponent beyond. */
function writeDecimal(digits: u64, k: i32, at: usize): usize {
  while (digits % 10 == 0) {
    digits /= 10;
    k++;
  }
  const n = digitsOf(digits);
  const point = n + k;
  if (point > 0 && point <= 21) {
    if (k >= 0) {
      writeDigits(digits, n, at);
      return fillZeros(at + n, k);
    }
    // The digits go one place to the right, those before the point are moved back over it.
    writeDigits(digits, n, at + 1);
    for (let i = 0; i < point; i++) store<u8>(at + i, load<u8>(at + i + 1));
    store<u8>(at + point, POINT);
    return at + n + 1;
  }
  if (point > -6 && point <= 0) {
    store<u8>(at, ZERO);
    store<u8>(at + 1, POINT);
    at = fillZeros(at + 2, -point);
    writeDigits(digits, n, at);
    return at + n;
  }
  writeDigits(digits, n, at + 1);
  store<u8>(at, load<u8>(at + 1));
  if (n > 1) store<u8>(at + 1, POINT);
  at += n > 1 ? n + 1 : 1;
  store<u8>(at, EXPONENT);
  let e = point - 1;
  store<u8>(at + 1, e < 0 ? MINUS : PLUS);
  if (e < 0) e = -e;
  const width = e >= 100 ? 3 : e >= 10 ? 2 : 1;
  writeDigits(e, width, at + 2);
  return at + 2 + width;
}

@inline
function fillZeros(at: usize, count: i32): usize {
  for (let i = 0; i < count; i++) store<u8>(at + i, ZERO);
  return at + count;
}

@inline
function digitsOf(value: u64): i32 {
  if (value >= 10000000000000000) return 17;
  if (value >= 1000000000000000) return 16;
  let n = 1;
  while (value >= 10) {
    value /= 10;
    n++;
  }
  return n;
}

/** Writes exactly n digits, two at a time from the right. */
function writeDigits(value: u64, n: i32, at: usize): void {
  let end = at + n;
  while (value >= 100000000) {
    const rest = <u32>(value % 100000000);
    value /= 100000000;
    const upper = rest / 10000;
    const lower = rest % 10000;
    end -= 8;
    store<u16>(end, load<u16>(PAIRS + ((upper / 100) << 1)));
    store<u16>(end, load<u16>(PAIRS + ((upper % 100) << 1)), 2);
    store<u16>(end, load<u16>(PAIRS + ((lower / 100) << 1)), 4);
    store<u16>(end, load<u16>(PAIRS + ((lower % 100) << 1)), 6);
  }
  let rest = <u32>value;
  while (rest >= 100) {
    end -= 2;
    store<u16>(end, load<u16>(PAIRS + ((rest % 100) << 1)));
    rest /= 100;
  }
  if (rest >= 10) store<u16>(end - 2, load<u16>(PAIRS + (rest << 1)));
  else store<u8>(end - 1, ZERO + <u8>rest);
}
