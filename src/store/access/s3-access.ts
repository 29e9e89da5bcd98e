import type { KeySource } from './key-source.js';

/** Address and credentials of a bucket, as plain data. A thread receives it together with its destination. */
export interface S3Access {
  /** Origin of the service, without a trailing slash. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Prefix of every key; empty or with a trailing slash. */
  readonly prefix: string;
  readonly keys: KeySource;
}
