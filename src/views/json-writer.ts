import { Refusal } from '#domain/refusal.js';

/**
 * Writes JSON text as bytes, faster than building it as objects first: the caller writes the syntax, the writer the values.
 * Numbers have the shortest form that reads back to the same double, -0 is written 0.
 */
export interface JsonWriter {
  /** Text that is JSON already: syntax, keys, constants. */
  raw(text: string): void;
  string(value: string): void;
  /** @throws Refusal NUMERIC_FAILURE when the number is not finite */
  number(value: number): void;
  /** Numbers `from` to `to` (exclusive), separated by commas, without brackets. @throws Refusal NUMERIC_FAILURE */
  numbers(values: Float64Array, from?: number, to?: number): void;
  /** Any JSON value. */
  value(value: unknown): void;
  /** Bytes written so far. */
  readonly length: number;
  /** Writes again what was written from one position to another. */
  repeat(from: number, to: number): void;
  /** The text so far, on a buffer of its own. */
  bytes(): Uint8Array<ArrayBuffer>;
}

/** Numbers handed to the engine's own serialiser at once: enough to pay for the call, few enough to stay in cache. */
const BATCH = 512;

export function createJsonWriter(expectedBytes = 1 << 16): JsonWriter {
  let buffer = Buffer.allocUnsafeSlow(expectedBytes);
  let length = 0;
  const batch: number[] = [];

  function reserve(bytes: number): void {
    if (length + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(length + bytes, buffer.length * 2));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  }

  /** Text of one-byte characters. */
  function ascii(text: string): void {
    reserve(text.length);
    length += buffer.write(text, length, 'latin1');
  }

  function utf8(text: string): void {
    reserve(text.length * 3);
    length += buffer.write(text, length, 'utf8');
  }

  return {
    raw: utf8,
    string: (value) => utf8(JSON.stringify(value)),
    number(value) {
      if (!Number.isFinite(value)) throw notFinite(value);
      ascii(value === 0 ? '0' : String(value));
    },
    numbers(values, from = 0, to = values.length) {
      for (let start = from; start < to; start += BATCH) {
        const end = Math.min(to, start + BATCH);
        batch.length = end - start;
        for (let i = start; i < end; i++) {
          const value = values[i]!;
          if (!Number.isFinite(value)) throw notFinite(value);
          batch[i - start] = value;
        }
        if (start > from) ascii(',');
        const text = JSON.stringify(batch);
        ascii(text.slice(1, -1));
      }
    },
    value(value) {
      utf8(JSON.stringify(value, (_key, member: unknown) => {
        if (typeof member === 'number' && !Number.isFinite(member)) throw notFinite(member);
        return member;
      }));
    },
    get length() {
      return length;
    },
    repeat(from, to) {
      reserve(to - from);
      buffer.copy(buffer, length, from, to);
      length += to - from;
    },
    bytes: () => new Uint8Array(buffer.buffer.slice(0, length) as ArrayBuffer),
  };
}

function notFinite(value: number): Refusal {
  return new Refusal('NUMERIC_FAILURE', `A result is ${value}, not a finite number.`);
}
