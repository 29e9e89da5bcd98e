import { z } from 'zod';
import { PublicKey } from './publication-document.js';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/** Files of a bundle other than its manifest. */
export const BUNDLE_FILES = [
  'plan.json',
  'market.arrow',
  'tables.json',
  'calendars.json',
  'log.ndjson',
  'keys.json',
] as const;
export type BundleFile = (typeof BUNDLE_FILES)[number];

export const MANIFEST_FILE = 'manifest.json';

/** Maximum number of bytes of a bundle: 2,000 securities over 20 years with two fields. */
export const BUNDLE_BYTES_MAX = 512 * 2 ** 20;

/** List of hashes of a bundle, signed by its publisher. */
export const BundleManifest = z.strictObject({
  format: z.literal('divisor-bundle-1'),
  index_id: z.string(),
  /** Run from which the closes are recomputed, and the version of its engine. */
  run_id: z.string(),
  engine: z.string(),
  /** Number of entries in the log, and the hash of the last. */
  entries: z.int().min(1),
  head: Hash,
  /** SHA-256 of each file. */
  files: z.record(z.enum(BUNDLE_FILES), Hash),
  /** SHA-256 of the inputs of each security and date; `always` has those without a date. */
  securities: z.record(z.string(), Hash),
  dates: z.record(z.string(), Hash),
  at: z.string(),
  key_id: z.string(),
  hash: Hash,
  signature: z.string(),
});
export type BundleManifest = z.infer<typeof BundleManifest>;

/** Calendar with its sessions. */
export const BundleCalendar = z.strictObject({
  code: z.string(),
  name: z.string(),
  region: z.string(),
  tz: z.string(),
  coverage: z.strictObject({ from: z.int(), publishedTo: z.int(), to: z.int() }),
  /** Days since 1970-01-01, ascending. */
  sessions: z.array(z.int()),
});
export type BundleCalendar = z.infer<typeof BundleCalendar>;

export const BundleKeys = z.strictObject({ keys: z.array(PublicKey) });
