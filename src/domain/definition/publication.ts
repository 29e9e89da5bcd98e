import { z } from 'zod';
import { formatNumber } from '../base/numbers.js';
import { defineObject } from '../base/schema.js';

/** Hash before the first entry of a log. */
export const NO_HASH = '0'.repeat(64);

const Hash = z.string().regex(/^[0-9a-f]{64}$/);

/** Published close, or a later statement about a close; it never changes once it is stored. */
export const PublicationEntry = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'Number, from 1 without gaps.' }),
  index_id: z.string(),
  date: z.string().meta({ description: 'Session of the close.' }),
  kind: z.enum(['close', 'restatement']).meta({ description: 'A restatement replaces earlier entries of its date.' }),
  price: z.number().nullable().meta({ description: 'Price return level; null if prices include dividends.' }),
  total: z.number().nullable().meta({ description: 'Total return level.' }),
  net: z.number().nullable().meta({ description: 'Net total return level.' }),
  divisor: z.number().nullable(),
  composition_hash: Hash.meta({
    description: 'SHA-256 of the canonical JSON (RFC 8785) of the index weights at the close, by identifier.',
  }),
  data_hash: z.string().nullable().meta({ description: 'Content hash of the data of the run.' }),
  index_version: z.int().min(1).nullable().meta({ description: 'Version of the definition; null if unknown.' }),
  calendar_version: z.int().min(1).optional().meta({
    description: 'Version of the recorded changes of the calendar that the run used; absent if there were none.',
  }),
  engine: z.string().nullable().meta({ description: 'Version of the engine of the run.' }),
  reason: z.string().nullable().meta({
    description:
      'Reason for a restatement, for a publication without price bars of some constituents, or for a difference from earlier closes that an error policy left unchanged. Null for any other close.',
  }),
  at: z.string().meta({ description: 'Time of the publication, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; local without authentication.' }),
  previous: Hash.meta({ description: 'Hash of the previous entry; 64 zeros in the first.' }),
  hash: Hash.meta({ description: 'SHA-256 of the canonical JSON of the entry without hash and signature.' }),
  key_id: z.string().meta({ description: 'Key of the signature.' }),
  signature: z.string().meta({ description: 'Ed25519 signature of the 32 bytes of hash, in base64.' }),
})).meta({ id: 'PublicationEntry' });
export type PublicationEntry = z.infer<typeof PublicationEntry>;

/** Closes of the index of a run. All arrays have one entry per date. */
export interface IndexCloses {
  /** Dates YYYY-MM-DD in ascending order. */
  readonly dates: readonly string[];
  readonly price: readonly (number | null)[];
  readonly total: readonly (number | null)[];
  readonly net: readonly (number | null)[];
  readonly divisor: readonly (number | null)[];
  /** SHA-256 of the canonical JSON of the index weights by identifier. */
  readonly composition_hash: readonly string[];
  readonly held: readonly number[];
  /**
   * Number of securities that have no bar on the date although their exchange was open. Zero if the run does not record
   * it.
   */
  readonly without_bar: readonly number[];
  /** True if the index rounds its levels on the date. */
  readonly rounded: readonly boolean[];
  /** True if securities were traded, entered or left at the close. */
  readonly traded: readonly boolean[];
}

export interface ComparedClose {
  /** True if levels and divisor agree, rounded as the index rounds them. */
  readonly hasSameFigures: boolean;
  readonly hasSameComposition: boolean;
  /** True if the index rounds its levels on the date. */
  readonly isRounded: boolean;
  /** True if securities were traded, entered or left at the close. Otherwise the weights only drifted. */
  readonly isTraded: boolean;
}

/**
 * Returns, for the consecutive closes of a run, whether each agrees with the published one. If an index rounds its levels,
 * a correction of a price below the rounding changes the weights of the close but no published figure. Such a close
 * agrees, because the composition before or after it is the published one, and only drift lies between them.
 */
export function findAgreements(closes: readonly ComparedClose[]): boolean[] {
  const agreements: boolean[] = [];
  for (const [i, { hasSameFigures, hasSameComposition, isRounded, isTraded }] of closes.entries()) {
    const next = closes[i + 1];
    const isBetween =
      (!isTraded && agreements[i - 1] === true) || (next?.isTraded === false && next.hasSameComposition);
    agreements.push(hasSameFigures && (hasSameComposition || (isRounded && isBetween)));
  }
  return agreements;
}

/** Maximum number of entries per document. A larger publication is stored in several documents. */
export const BATCH_ENTRIES_MAX = 256;

/** Consecutive entries of one publication, as stored. */
export const PublicationBatch = defineObject(() => ({ entries: z.array(PublicationEntry).min(1) }));
export type PublicationBatch = z.infer<typeof PublicationBatch>;

export const PublicationHead = defineObject(() => ({
  seq: z.int().min(1),
  hash: Hash,
  /** Number of documents with entries, numbered from 1. */
  batches: z.int().min(1),
}));
export type PublicationHead = z.infer<typeof PublicationHead>;

export const SigningKey = defineObject(() => ({
  key_id: z.string(),
  /** Public key, 32 bytes in base64. */
  public_key: z.string(),
  /** Private key, PKCS #8 in DER as base64; empty for a replaced key. */
  private_key: z.string(),
  valid_from: z.string(),
  /** Time at which the key was replaced; null for the current key. */
  valid_until: z.string().nullable(),
}));
export type SigningKey = z.infer<typeof SigningKey>;

export const PublicKey = defineObject(() => ({
  key_id: z.string().meta({ description: 'The first 16 hexadecimal digits of the SHA-256 of the public key.' }),
  public_key: z.string().meta({ description: 'The 32 bytes of an Ed25519 public key, in base64.' }),
  valid_from: z.string().meta({ description: 'Time of its creation, ISO-8601 UTC with offset.' }),
  valid_until: z
    .string()
    .nullable()
    .meta({ description: 'Time from which the key is no longer used; null for the current key.' }),
})).meta({ id: 'PublicKey' });
export type PublicKey = z.infer<typeof PublicKey>;

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

/** Maximum number of sessions of a correction window: four years. */
const WINDOW_MAX = 1040;

/** Policy for published closes that differ from a later run. */
export const ErrorPolicy = defineObject(() => ({
  materiality_bps: z
    .number()
    .positive()
    .max(10_000)
    .meta({ description: 'Smallest difference of a level that is material, in basis points.', example: 5 }),
  correction_window: z.int().min(1).max(WINDOW_MAX).meta({
    description: 'Number of latest sessions within which a material error is restated. An older error is announced.',
    example: 10,
  }),
})).meta({
  id: 'ErrorPolicy',
  description:
    'Differences below the threshold are left unchanged. Material differences are restated within the window, and announced after it.',
});
export type ErrorPolicy = z.infer<typeof ErrorPolicy>;

export const ERROR_DECISIONS = ['restated', 'announced', 'left'] as const;
export type ErrorDecision = (typeof ERROR_DECISIONS)[number];

export const LevelChange = defineObject(() => ({
  date: z.string(),
  variant: z.enum(['price', 'total', 'net']).meta({ description: 'Level.' }),
  published: z.number().meta({ description: 'Index points.' }),
  run: z.number().meta({ description: 'Level of the run in index points.' }),
  change: z.number().meta({ description: 'Level of the run less published level, in index points.' }),
  change_bps: z.number().meta({ description: 'Change relative to the published level, in basis points.' }),
})).meta({ id: 'LevelChange' });
export type LevelChange = z.infer<typeof LevelChange>;

/** Difference between published closes and a run, with the decision about it. A stored entry never changes. */
export const PublishedError = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'Number, from 1 without gaps, counted by index.' }),
  index_id: z.string(),
  at: z.string().meta({ description: 'Time of the decision, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; for a schedule, its author.' }),
  decision: z.enum(ERROR_DECISIONS).meta({
    description: '`restated`: closes were published again. `announced` and `left`: published closes did not change.',
  }),
  policy: ErrorPolicy.nullable().meta({ description: 'Policy of the decision; null for a decision of a person.' }),
  first: z.string().meta({ description: 'First date with a difference.' }),
  last: z.string().meta({ description: 'Last date that differs.' }),
  dates: z.int().min(1).meta({ description: 'Number of dates with a difference.' }),
  material_from: z.string().nullable().meta({
    description: 'First date with a material difference. Null if there is none, and for a decision without a policy.',
  }),
  restated: z.int().min(0).meta({ description: 'Closes that were published again.' }),
  largest: LevelChange.nullable().meta({
    description: 'Largest change of a level; null if only divisor or composition differ.',
  }),
  run_id: z.string().meta({ description: 'Run with the difference.' }),
  reason: z.string().meta({ description: 'Reason for the decision.' }),
  notice: z.string().meta({ description: 'Notice for clients.' }),
  digest: z.string().meta({ description: 'SHA-256 of the differences. Equal differences are registered once.' }),
})).meta({ id: 'PublishedError', description: 'Entry of the register of errors.' });
export type PublishedError = z.infer<typeof PublishedError>;

export interface DatedDifference {
  readonly date: string;
  /** Largest absolute change of a level, in basis points. */
  readonly bps: number;
  /** Number of sessions from this date to the last close, both inclusive. */
  readonly age: number;
}

export interface DecidedError {
  readonly decision: ErrorDecision;
  /** First date with a material difference; null if no difference is material. */
  readonly materialFrom: string | null;
  readonly reason: string;
}

/** Decides on differences according to a policy. @param differences by date, ascending */
export function decideError(
  { materiality_bps: materiality, correction_window: window }: ErrorPolicy,
  differences: readonly DatedDifference[],
): DecidedError {
  const first = differences.find(({ bps }) => bps >= materiality);
  const largest = Math.max(0, ...differences.map(({ bps }) => bps));
  const sizeText = `The largest difference is ${formatNumber(Number(largest >= 1 ? largest.toFixed(2) : largest.toPrecision(3)))} bp`;
  if (first === undefined)
    return { decision: 'left', materialFrom: null, reason: `${sizeText}, below the threshold of ${materiality} bp.` };
  const ageText = `began ${first.age} session${first.age === 1 ? '' : 's'} ago`;
  const isRecent = first.age <= window;
  return {
    decision: isRecent ? 'restated' : 'announced',
    materialFrom: first.date,
    reason: `${sizeText}, at or above the threshold of ${materiality} bp, and ${ageText}, ${isRecent ? 'within' : 'outside'} the window of ${window} sessions.`,
  };
}
