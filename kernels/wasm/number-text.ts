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
  // The product with the centre in 192 bits; the ends are half a step of the number away from it, exactly.
  const center = c << (2 + h);
  const bottom = low * center;
  const carry = mulHigh(low, center);
  const first = high * center;
  const mid = first + carry;
  const top = mulHigh(high, center) + (mid < first ? 1 : 0);
  const middle = toOdd(top, mid);
  // power x 2^(h + 1), h being 1 to 4, and half of it where the number below is nearer.
  const upper = above(top, mid, bottom, high, low, h + 1) - odd;
  const lower = below(top, mid, bottom, high, low, lowerIsCloser ? h : h + 1) + odd;

  const s = middle >> 2;
  if (s >= 10) {
    const tens = s / 10;
    const isBelow = lower <= 40 * tens;
    const isAbove = 40 * tens + 40 <= upper;
    if (isBelow != isAbove) return writeDecimal(tens + (isAbove ? 1 : 0), k + 1, at);
  }
  const isBelow = lower <= s << 2;
  const isAbove = (s << 2) + 4 <= upper;
  if (isBelow != isAbove) return writeDecimal(s + (isAbove ? 1 : 0), k, at);
  const half = (s << 2) + 2;
  const up = middle > half || (middle == half && (s & 1) != 0);
  return writeDecimal(s + (up ? 1 : 0), k, at);
}

/** High part of a product of 192 bits, with a sticky last bit; what is below the middle part counts for nothing. */
@inline
function toOdd(top: u64, mid: u64): u64 {
  return top | (mid > 1 ? 1 : 0);
}

/** The same of the product and a power shifted by 1 to 5 bits. */
@inline
function above(top: u64, mid: u64, bottom: u64, high: u64, low: u64, shift: u64): u64 {
  const addend = (high << shift) | (low >> (64 - shift));
  const carry: u64 = bottom + (low << shift) < bottom ? 1 : 0;
  const sum = mid + addend;
  const whole = sum + carry;
  return toOdd(top + (high >> (64 - shift)) + (sum < mid ? 1 : 0) + (whole < sum ? 1 : 0), whole);
}

/** The same of the product less a power shifted by 1 to 5 bits. */
@inline
function below(top: u64, mid: u64, bottom: u64, high: u64, low: u64, shift: u64): u64 {
  const part = (high << shift) | (low >> (64 - shift));
  const borrow: u64 = bottom < low << shift ? 1 : 0;
  const rest = mid - part;
  const whole = rest - borrow;
  return toOdd(top - (high >> (64 - shift)) - (mid < part ? 1 : 0) - (rest < borrow ? 1 : 0), whole);
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
  for (let quotient = digits / 10; quotient * 10 == digits; quotient = digits / 10) {
    digits = quotient;
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
  // A remainder is what the quotient leaves: dividing once more for it would take as long again.
  while (value >= 100000000) {
    const quotient = value / 100000000;
    const rest = <u32>(value - quotient * 100000000);
    value = quotient;
    const upper = rest / 10000;
    end -= 8;
    writeFour(upper, end);
    writeFour(rest - upper * 10000, end + 4);
  }
  let rest = <u32>value;
  while (rest >= 100) {
    end -= 2;
    const quotient = rest / 100;
    store<u16>(end, load<u16>(PAIRS + ((rest - quotient * 100) << 1)));
    rest = quotient;
  }
  if (rest >= 10) store<u16>(end - 2, load<u16>(PAIRS + (rest << 1)));
  else store<u8>(end - 1, ZERO + <u8>rest);
}

@inline
function writeFour(value: u32, at: usize): void {
  const upper = value / 100;
  store<u16>(at, load<u16>(PAIRS + (upper << 1)));
  store<u16>(at, load<u16>(PAIRS + ((value - upper * 100) << 1)), 2);
}
