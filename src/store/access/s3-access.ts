import type { KeySource } from './key-source.js';

/** Where a bucket is and who may use it. Plain data: a thread gets it with its destination. */
export interface S3Access {
  /** Origin of the service, without a slash at its end. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Of every key; empty or with a slash at its end. */
  readonly prefix: string;
  readonly keys: KeySource;
}
