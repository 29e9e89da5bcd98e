import { randomBytes } from 'node:crypto';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** The client's own request id when it is short visible ASCII, otherwise a new one. */
export function requestIdOf(sent: string | null): string {
  return sent !== null && VISIBLE_ASCII.test(sent) ? sent : newRequestId();
}

/** Digits of the part that counts. */
const COUNTED_DIGITS = 12;

/** Drawn once a process: the first 74 random bits of a UUID of version 8, whose rest counts from another random number. */
const drawn = randomBytes(16);
drawn[6] = 0x80 | (drawn[6]! & 0x0f);
drawn[8] = 0x80 | (drawn[8]! & 0x3f);
const PREFIX = drawn.toString('hex', 0, 10).replace(/^(.{8})(.{4})(.{4})(.{4})$/, '$1-$2-$3-$4-');
let next = drawn.readUIntBE(10, 5);

/** Another id at each call, unlike those of other processes. A UUID of random bits takes four times as long. */
export function newRequestId(): string {
  return PREFIX + (next++).toString(16).padStart(COUNTED_DIGITS, '0');
}
