/** Exponent of the first entry in the table of powers of ten: 10^-292 to 10^324, 128 bits each, high half first. */
const POWER_MIN: i32 = -292;

/** Digit 0 in eight bytes. */
const ZEROS: u64 = 0x3030303030303030;
/** Text `0.` followed by six zeros. */
const BELOW_ONE: u64 = 0x3030303030302e30;

const ZERO: u8 = 48;
const POINT: u8 = 46;
const MINUS: u8 = 45;
const PLUS: u8 = 43;
const COMMA: u8 = 44;
const EXPONENT: u8 = 101;

/**
 * Writes numbers separated by commas. @param powers address of the table of powers.
 * @returns the address after the text, 0 if a number is not finite
 */
export function writeNumbers(values: usize, count: i32, address: usize, powers: usize): usize {
  for (let i = 0; i < count; i++) {
    if (i > 0) store<u8>(address++, COMMA);
    address = writeNumber(load<f64>(values), address, powers);
    if (address == 0) return 0;
    values += 8;
  }
  return address;
}

/**
 * Writes the shortest decimal text that parses to the number, in the form of ECMAScript. Zero of either sign is written
 * as 0. The text has at most 25 bytes. @returns the address after the text, 0 if the number is not finite
 */
export function writeNumber(value: f64, address: usize, powers: usize): usize {
  const bits = reinterpret<u64>(value);
  const biased = <i32>((bits >> 52) & 0x7ff);
  const fraction = bits & 0xfffffffffffff;
  if (biased == 0x7ff) return 0;
  if (biased == 0 && fraction == 0) {
    store<u8>(address, ZERO);
    return address + 1;
  }
  if (<i64>bits < 0) store<u8>(address++, MINUS);

  const hidden = biased == 0 ? fraction : fraction | 0x10000000000000;
  const q = biased == 0 ? -1074 : biased - 1075;
  if (q <= 0 && q > -53 && (hidden & ((<u64>1 << <u64>-q) - 1)) == 0) return writeDecimal(hidden >> <u64>-q, 0, address);
  return writeShortest(hidden, q, fraction == 0 && biased > 1, address, powers);
}

/**
 * Writes the shortest decimal in the rounding interval of c 2^q. @source R. Giulietti, The Schubfach way to render
 * doubles, 2021
 */
function writeShortest(c: u64, q: i32, lowerIsCloser: bool, address: usize, powers: usize): usize {
  const odd = c & 1;
  const k = lowerIsCloser ? (q * 1262611 - 524031) >> 22 : (q * 1262611) >> 22;
  const h = <u64>(q + ((-k * 1741647) >> 19) + 1);
  const power = powers + (<usize>(-k - POWER_MIN) << 4);
  const high = load<u64>(power);
  const low = load<u64>(power, 8);
  // The product with the centre has 192 bits. The ends of the interval are exactly half a step of the number away from
  // the centre.
  const center = c << (2 + h);
  const bottom = low * center;
  const carry = multiplyHigh(low, center);
  const first = high * center;
  const mid = first + carry;
  const top = multiplyHigh(high, center) + (mid < first ? 1 : 0);
  const middle = toOdd(top, mid);
  // Computes power x 2^(h + 1), with h from 1 to 4, or half of it if the next smaller number is nearer.
  const upper = roundUpProduct(top, mid, bottom, high, low, h + 1) - odd;
  const lower = roundDownProduct(top, mid, bottom, high, low, lowerIsCloser ? h : h + 1) + odd;

  const s = middle >> 2;
  if (s >= 10) {
    const tens = divideByTen(s);
    const isBelow = lower <= 40 * tens;
    const isAbove = 40 * tens + 40 <= upper;
    if (isBelow != isAbove) return writeDecimal(tens + (isAbove ? 1 : 0), k + 1, address);
  }
  const isBelow = lower <= s << 2;
  const isAbove = (s << 2) + 4 <= upper;
  if (isBelow != isAbove) return writeDecimal(s + (isAbove ? 1 : 0), k, address);
  const half = (s << 2) + 2;
  const roundsUp = middle > half || (middle == half && (s & 1) != 0);
  return writeDecimal(s + (roundsUp ? 1 : 0), k, address);
}

/**
 * Returns the high part of a product of 192 bits, and ignores the low part. The last bit is set if the middle part is
 * above 1; a middle part of 1 can be an error of the rounded power.
 */
@inline
function toOdd(top: u64, mid: u64): u64 {
  return top | (mid > 1 ? 1 : 0);
}

/** Adds a power, shifted by 1 to 5 bits, to the product. Returns the rounded high part, like `toOdd`. */
@inline
function roundUpProduct(top: u64, mid: u64, bottom: u64, high: u64, low: u64, shift: u64): u64 {
  const addend = (high << shift) | (low >> (64 - shift));
  const carry: u64 = bottom + (low << shift) < bottom ? 1 : 0;
  const sum = mid + addend;
  const whole = sum + carry;
  return toOdd(top + (high >> (64 - shift)) + (sum < mid ? 1 : 0) + (whole < sum ? 1 : 0), whole);
}

/** Subtracts a power, shifted by 1 to 5 bits, from the product. Returns the rounded high part, like `toOdd`. */
@inline
function roundDownProduct(top: u64, mid: u64, bottom: u64, high: u64, low: u64, shift: u64): u64 {
  const part = (high << shift) | (low >> (64 - shift));
  const borrow: u64 = bottom < low << shift ? 1 : 0;
  const rest = mid - part;
  const whole = rest - borrow;
  return toOdd(top - (high >> (64 - shift)) - (mid < part ? 1 : 0) - (rest < borrow ? 1 : 0), whole);
}

@inline
function multiplyHigh(a: u64, b: u64): u64 {
  const a0 = a & 0xffffffff;
  const a1 = a >> 32;
  const b0 = b & 0xffffffff;
  const b1 = b >> 32;
  const p01 = a0 * b1;
  const p10 = a1 * b0;
  const mid = ((a0 * b0) >> 32) + (p01 & 0xffffffff) + (p10 & 0xffffffff);
  return a1 * b1 + (p01 >> 32) + (p10 >> 32) + (mid >> 32);
}

/** Divides by 10 by a multiplication, which is faster. The result is exact for all 64-bit values. */
@inline
function divideByTen(value: u64): u64 {
  return multiplyHigh(value, 0xcccccccccccccccd) >> 3;
}

@inline
function removeEightDigits(value: u64): u64 {
  return multiplyHigh(value, 0xabcc77118461cefd) >> 26;
}

/**
 * Writes digits x 10^k, at most 17 digits, as ECMAScript does. Numbers from 1e-6 up to below 1e21 have a plain form;
 * other numbers have an exponent. Overwrites bytes after the text.
 */
function writeDecimal(digits: u64, k: i32, address: usize): usize {
  const upper = removeEightDigits(digits);
  let lead = <u32>upper / 100000000;
  // Each digit has one byte, the first digit in the lowest byte. Bit operations count zeros and insert the point.
  let first = formatEightDigits(<u32>upper - lead * 100000000);
  let last = formatEightDigits(<u32>(digits - upper * 100000000));
  let n = 16 - <i32>(last != 0 ? clz(last) >> 3 : 8 + (clz(first) >> 3));
  let point = 17 + k;
  if (lead == 0) {
    const zeros = <i32>(first != 0 ? ctz(first) >> 3 : 8 + (ctz(last) >> 3));
    first = shiftFirstDigits(first, last, zeros);
    last = shiftLastDigits(last, zeros);
    n -= zeros;
    point -= zeros + 1;
  }
  if (point > 0 && point <= 21) {
    if (lead != 0) {
      store<u8>(address++, ZERO + <u8>lead);
      point--;
    }
    return writePlain(first, last, n, point, address);
  }
  if (point > -6 && point <= 0) {
    store<u64>(address, BELOW_ONE);
    address += 2 - point;
    if (lead != 0) store<u8>(address++, ZERO + <u8>lead);
    return writeDigits(first, last, n, address);
  }
  if (lead == 0) {
    lead = <u32>first & 0xff;
    first = shiftFirstDigits(first, last, 1);
    last >>= 8;
    n--;
  }
  store<u8>(address++, ZERO + <u8>lead);
  if (n > 0) {
    store<u8>(address++, POINT);
    address = writeDigits(first, last, n, address);
  }
  return writeExponent(point - 1, address);
}

/** Writes a whole number, or digits with `point` digits before the point. */
@inline
function writePlain(first: u64, last: u64, n: i32, point: i32, address: usize): usize {
  writeDigits(first, last, n, address);
  if (n <= point) return point <= 16 ? address + point : fillZeros(address + 16, point - 16);
  store<u8>(address + point, POINT);
  return writeDigits(shiftFirstDigits(first, last, point), shiftLastDigits(last, point), n - point, address + point + 1);
}

/** Writes n of sixteen digits. */
@inline
function writeDigits(first: u64, last: u64, n: i32, address: usize): usize {
  store<u64>(address, first | ZEROS);
  store<u64>(address, last | ZEROS, 8);
  return address + n;
}

/** Returns the first eight of sixteen digits from position `from` on, 0 to 15. */
@inline
function shiftFirstDigits(first: u64, last: u64, from: i32): u64 {
  // A shift by 64 bits has no effect.
  const bits = <u64>(from << 3);
  return from < 8 ? (first >> bits) | ((last << 1) << (63 - bits)) : last >> (bits - 64);
}

@inline
function shiftLastDigits(last: u64, from: i32): u64 {
  return from < 8 ? last >> <u64>(from << 3) : 0;
}

/**
 * Returns the digits of a number below 10^8 as bytes. Splits the number into halves, quarters and digits, in parallel
 * within one word.
 */
@inline
function formatEightDigits(value: u32): u64 {
  const upper = value / 10000;
  const fours = <u64>upper | (<u64>(value - upper * 10000) << 32);
  const hundreds = ((fours * 10486) >> 20) & 0x0000007f0000007f;
  const twos = hundreds | ((fours - hundreds * 100) << 16);
  const tens = ((twos * 103) >> 10) & 0x000f000f000f000f;
  return tens | ((twos - tens * 10) << 8);
}

function writeExponent(e: i32, address: usize): usize {
  store<u8>(address, EXPONENT);
  store<u8>(address + 1, e < 0 ? MINUS : PLUS);
  const size = e < 0 ? -e : e;
  address += 2;
  if (size >= 100) store<u8>(address++, ZERO + <u8>(size / 100));
  if (size >= 10) store<u8>(address++, ZERO + <u8>((size / 10) % 10));
  store<u8>(address, ZERO + <u8>(size % 10));
  return address + 1;
}

@inline
function fillZeros(address: usize, count: i32): usize {
  for (let i = 0; i < count; i++) store<u8>(address + i, ZERO);
  return address + count;
}
