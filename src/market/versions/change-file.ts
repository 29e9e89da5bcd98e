import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { packChange, unpackChange, type ContentChange } from './content-change.js';

/** Longest change that is read: panels of 4 GB. */
const CHANGE_BYTES_MAX = 2 ** 32;

/** Returns a change as the bytes of a file, deflated. */
export const encodeChange = (change: ContentChange): Uint8Array => deflateRawSync(packChange(change));

/** @throws Error of bytes that are not a change */
export const decodeChange = (bytes: Uint8Array): ContentChange =>
  unpackChange(inflateRawSync(bytes, { maxOutputLength: CHANGE_BYTES_MAX }));
