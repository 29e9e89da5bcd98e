import { randomBytes } from 'node:crypto';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** Returns the client's request id if it is short visible ASCII, otherwise a new one. */
export function requestIdOf(sent: string | null): string {
  return sent !== null && VISIBLE_ASCII.test(sent) ? sent : newRequestId();
}

/** Number of digits that count. */
const COUNTED_DIGITS = 12;

/**
 * Random bits drawn once per process: the first 74 bits of a UUID of version 8, whose rest is a counter with a
 * random start.
 */
const drawn = randomBytes(16);
drawn[6] = 0x80 | (drawn[6]! & 0x0f);
drawn[8] = 0x80 | (drawn[8]! & 0x3f);
const PREFIX = drawn.toString('hex', 0, 10).replace(/^(.{8})(.{4})(.{4})(.{4})$/, '$1-$2-$3-$4-');
let next = drawn.readUIntBE(10, 5);

/** Returns a unique id. A UUID of random bits takes four times as long. */
export function newRequestId(): string {
  return PREFIX + (next++).toString(16).padStart(COUNTED_DIGITS, '0');
}
