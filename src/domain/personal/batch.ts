import { z } from 'zod';
import type { Day } from '../base/time.js';
import { StoredArtifact } from '../risk/risk-models.js';
import type { AccountDefaults, BatchTerms } from './account.js';

/** Terms of a batch; terms of earlier versions have no defaults. */
export type CommonTerms = Omit<BatchTerms, 'batch_id' | 'defaults'> & { readonly defaults?: AccountDefaults };

/** Data shared by all accounts of a batch. */
export interface BatchCommon {
  readonly terms: CommonTerms;
  readonly asOf: Day;
  /**
   * Securities that an account may hold. Those of the parent come first; other priced securities of the risk model
   * follow.
   */
  readonly identifiers: readonly string[];
  /**
   * Further securities of the data. Accounts cannot hold them, but may exclude them. Absent in data of earlier
   * versions.
   */
  readonly others?: readonly string[];
  /** Price per share in the currency of the index, [N]. */
  readonly prices: Float64Array;
  /** Weights in the parent, [N]. */
  readonly weights: Float64Array;
  readonly factors: number;
  /** [N x factors], annualised. */
  readonly loadings: Float64Array;
  /** [N] */
  readonly specific: Float64Array;
  /** Groups that constraint rows limit, with their members. */
  readonly groups: readonly GroupOfRow[];
}

export interface GroupOfRow {
  /** Index of the row in the terms. */
  readonly row: number;
  readonly group: string;
  /** Indices of the members in `identifiers`. */
  readonly members: readonly number[];
}

/** Returns the indices of securities by identifier. The map is created once per batch. */
export function indexSecurities(common: BatchCommon): ReadonlyMap<string, number> {
  const cachedPositions =
    positionsCache.get(common) ?? new Map(common.identifiers.map((name, position) => [name, position]));
  positionsCache.set(common, cachedPositions);
  return cachedPositions;
}

const positionsCache = new WeakMap<BatchCommon, ReadonlyMap<string, number>>();

/** Returns the set of `others`, created once per batch. */
export function listOtherSecurities(common: BatchCommon): ReadonlySet<string> {
  const cachedOthers = otherSecuritiesCache.get(common) ?? new Set(common.others);
  otherSecuritiesCache.set(common, cachedOthers);
  return cachedOthers;
}

const otherSecuritiesCache = new WeakMap<BatchCommon, ReadonlySet<string>>();

/** Number of accounts per part. A part is a second or two of work, so that little is lost if a node fails. */
export const PART_ACCOUNTS = 25;
export const BLOCK_ACCOUNTS = 100;
export const PARTS_PER_BLOCK = BLOCK_ACCOUNTS / PART_ACCOUNTS;
/** Number of accounts per file of results. A file is written at once from memory. */
export const VOLUME_ACCOUNTS = 2000;

/** Range of consecutive accounts in the file of a batch. */
export const AccountsPart = z.object({
  accounts: z.int(),
  bytes: z.int(),
  /** SHA-256 of the bytes as hexadecimal text. */
  sha256: z.string(),
  /** Line of the upload at which the part begins; null if the accounts were not sent as lines. */
  line: z.int().nullable(),
});
export type AccountsPart = z.infer<typeof AccountsPart>;

/** Artifact with the accounts of a batch, one JSON line each, and its parts in order. */
export const AccountsFile = z.object({
  file: StoredArtifact,
  parts: z.array(AccountsPart).readonly(),
});
export type AccountsFile = Readonly<z.infer<typeof AccountsFile>>;

/** Accounts of a batch: a file, or the accounts themselves in jobs that earlier versions queued. */
export const BatchAccounts = z.union([AccountsFile, z.array(z.unknown()).readonly()]);
export type BatchAccounts = AccountsFile | readonly unknown[];

/** Processor time per account, and per kB of its text, with a parent of 500 securities and 40 factors. */
const ACCOUNT_MS = 5;
const KB_MS = 0.25;

/** Returns the expected duration of a batch as a sentence. @param threads number of threads of this node */
export function estimateDuration({ file, parts }: AccountsFile, threads: number): string {
  const accounts = parts.reduce((sum, part) => sum + part.accounts, 0);
  const seconds = (accounts * ACCOUNT_MS + (file.bytes / 1000) * KB_MS) / 1000;
  const formatDuration = (s: number): string =>
    s < 90 ? `${Math.ceil(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
  const formatSeveral = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
  return (
    `${formatSeveral(accounts, 'account')}: about ${formatDuration(seconds)} of processor time, ` +
    `${formatDuration(seconds / threads)} on ${formatSeveral(threads, 'thread')}.`
  );
}

export function measureAccounts(accounts: BatchAccounts): number[] {
  if ('parts' in accounts) return accounts.parts.map((part) => part.accounts);
  const count = Math.ceil(accounts.length / PART_ACCOUNTS);
  return Array.from({ length: count }, (_, position) =>
    Math.min(PART_ACCOUNTS, accounts.length - position * PART_ACCOUNTS),
  );
}

export interface PartLines {
  /** JSON lines, one account each; blank lines are ignored. */
  readonly text: string;
  /** Index of the first account in the batch. */
  readonly position: number;
  readonly line: number | null;
}
