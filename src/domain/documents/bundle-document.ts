import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { PublicKey } from './publication-document.js';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/** Files of every bundle in addition to its manifest. */
export const BUNDLE_FILES = [
  'plan.json',
  'market.arrow',
  'tables.json',
  'calendars.json',
  'log.ndjson',
  'keys.json',
] as const;
export type BundleFile = (typeof BUNDLE_FILES)[number];

/**
 * Returns the file name of the packed covariances of a stored risk model, by its index among the models of the plan,
 * ordered by id.
 */
export const createModelFileName = (place: number): string => `model-${place}.f64`;

/**
 * Earlier contents of the market for point-in-time decisions: an index file, and a file with the change for each
 * content.
 */
export const KNOWN_FILE = 'known.json';
export const createChangeFileName = (place: number): string => `change-${place}.bin`;

const FileName = z.union([
  z.enum([...BUNDLE_FILES, KNOWN_FILE]),
  z.string().regex(/^(?:model-\d+\.f64|change-\d+\.bin)$/),
]);

export const MANIFEST_FILE = 'manifest.json';

/** Maximum size of a bundle: 2,000 securities over 20 years with two fields. */
export const BUNDLE_BYTES_MAX = 512 * 2 ** 20;

/** Manifest of a bundle: hashes of its files, signed by its publisher. */
export const BundleManifest = defineObject(() => ({
  format: z.literal('divisor-bundle-1'),
  index_id: z.string(),
  /** Run from which closes are recomputed, and the version of its engine. */
  run_id: z.string(),
  engine: z.string(),
  /** Number of entries in the log, and the hash of the last entry. */
  entries: z.int().min(1),
  head: Hash,
  /** SHA-256 of each file. */
  files: z
    .record(FileName, Hash)
    .refine((files) => BUNDLE_FILES.every((name) => Object.hasOwn(files, name)), 'a file is missing'),
  /** SHA-256 of the inputs by security and date. `always` is the hash of inputs without a date. */
  securities: z.record(z.string(), Hash),
  dates: z.record(z.string(), Hash),
  at: z.string(),
  key_id: z.string(),
  hash: Hash,
  signature: z.string(),
}));
export type BundleManifest = z.infer<typeof BundleManifest>;

/** Calendar with its sessions. */
export const BundleCalendar = defineObject(() => ({
  code: z.string(),
  name: z.string(),
  region: z.string(),
  tz: z.string(),
  coverage: z.strictObject({ from: z.int(), publishedTo: z.int(), to: z.int() }),
  /** Session days since 1970-01-01, ascending. */
  sessions: z.array(z.int()),
}));
export type BundleCalendar = z.infer<typeof BundleCalendar>;

export const BundleKeys = defineObject(() => ({ keys: z.array(PublicKey) }));

/**
 * Contents of the market on which decisions were based. For each content, states the day (since 1970-01-01) at whose
 * end it was known.
 */
export const BundledVersions = defineObject(() => ({
  known_on: z.int(),
  /** Contents, latest first, each as the change from the content after it. */
  earlier: z.array(z.strictObject({ known_on: z.int(), file: z.string() })),
}));
export type BundledVersions = z.infer<typeof BundledVersions>;
