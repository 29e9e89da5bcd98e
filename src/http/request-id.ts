import { randomUUID } from 'node:crypto';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** Returns the request id of the client if it is short and visible ASCII; otherwise a new id. */
export function chooseRequestId(sent: string | null): string {
  return sent !== null && VISIBLE_ASCII.test(sent) ? sent : randomUUID();
}
