import { writeNumber } from './number-text';

/**
 * Kinds of columns. A column contains doubles (NaN is a missing value), int32 counts (one value is a missing count), or
 * positions of texts.
 */
const NUMBER: u8 = 0;
const COUNT: u8 = 1;

/** Value of a missing count. */
const NONE: i32 = -0x80000000;

/**
 * Number of bits for the length of a text in a text position. The upper bits contain the offset of the first byte from
 * `tokens`, and the lower bits contain the length.
 */
const LENGTH_BITS: i32 = 13;

/** Offsets of the marks of a row, each a text position. */
const ROW_START: usize = 0;
const SEPARATOR: usize = 4;
const ROW_END: usize = 8;
const NONE_MARK: usize = 12;
/** Offset at which the address after the written text is stored. */
const WRITTEN_TO: usize = 16;

/**
 * Writes as many rows of a table as are certain to fit.
 * @param kinds [columns] bytes. @param values columns of `stride` bytes each: 8 bytes per number, otherwise 4
 * @param rowBytes maximum size of a row. @returns number of rows written; -1 if a number is infinite
 * @cost about 25 ns per number and 3 ns per text
 */
export function writeTable(
  kinds: usize, columns: i32, values: usize, stride: usize, from: i32, to: i32,
  marks: usize, tokens: usize, address: usize, end: usize, rowBytes: usize, powers: usize,
): i32 {
  const start = load<u32>(marks, ROW_START);
  const separator = load<u32>(marks, SEPARATOR);
  const rowEnd = load<u32>(marks, ROW_END);
  const none = load<u32>(marks, NONE_MARK);
  let row = from;
  for (; row < to && address + rowBytes <= end; row++) {
    address = copy(tokens, start, address);
    // Caches the last number, because numbers of a row are often equal: for example, the weights in a portfolio and in
    // its index.
    let last: u64 = 0;
    let lastAt: usize = 0;
    let lastLength: usize = 0;
    let column = values;
    for (let c = 0; c < columns; c++) {
      if (c > 0) address = copy(tokens, separator, address);
      const kind = load<u8>(kinds + c);
      if (kind == NUMBER) {
        const value = load<f64>(column + (<usize>row << 3));
        if (value != value) {
          address = copy(tokens, none, address);
        } else {
          const bits = reinterpret<u64>(value);
          if (lastLength > 0 && bits == last) {
            move(lastAt, lastLength, address);
            address += lastLength;
          } else {
            const next = writeNumber(value, address, powers);
            if (next == 0) return -1;
            last = bits;
            lastAt = address;
            lastLength = next - address;
            address = next;
          }
        }
      } else {
        const value = load<i32>(column + (<usize>row << 2));
        if (kind != COUNT) address = copy(tokens, value, address);
        else address = value == NONE ? copy(tokens, none, address) : writeNumber(<f64>value, address, powers);
      }
      column += stride;
    }
    address = copy(tokens, rowEnd, address);
  }
  store<u32>(marks, address, WRITTEN_TO);
  return row - from;
}

@inline
function copy(tokens: usize, place: u32, address: usize): usize {
  const length: usize = place & ((1 << LENGTH_BITS) - 1);
  move(tokens + (place >> LENGTH_BITS), length, address);
  return address + length;
}

/** Copies eight bytes at a time. Bytes after the end are overwritten later or are in unused memory. */
@inline
function move(from: usize, length: usize, to: usize): void {
  for (let i: usize = 0; i < length; i += 8) store<u64>(to + i, load<u64>(from + i));
}
