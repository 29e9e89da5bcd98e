import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { packChange, unpackChange, type ContentChange } from './content-change.js';

/** Maximum size of an inflated change: panels of 4 GB. */
const CHANGE_BYTES_MAX = 2 ** 32;

/** Encodes a change as a file, deflated. */
export const encodeChange = (change: ContentChange): Uint8Array => deflateRawSync(packChange(change));

/** Decodes a change. @throws Error if the bytes are not a change */
export const decodeChange = (bytes: Uint8Array): ContentChange =>
  unpackChange(inflateRawSync(bytes, { maxOutputLength: CHANGE_BYTES_MAX }));
