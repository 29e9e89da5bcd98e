import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { RunDocument } from '#domain/definition/runs.js';
import { VERSIONED_KINDS } from '#domain/definition/versions.js';

/**
 * Maximum length of an id in bytes. With it, every id fits into a key of every engine; LMDB allows 1,978 bytes. Ids in
 * requests are far shorter.
 */
const ID_BYTES_MAX = 512;

/**
 * Matches an unpaired surrogate, which UTF-8 cannot encode. Two ids with different unpaired surrogates would share a
 * key.
 */
const HALF_PAIR = /\p{Surrogate}/u;

export function isDocumentId(id: string): boolean {
  return id !== '' && !id.includes('\u0000') && !HALF_PAIR.test(id) && Buffer.byteLength(id) <= ID_BYTES_MAX;
}

/** Number of digits in a key. Leading zeros make keys sort like their numbers. */
const DIGITS = 10;

/** Returns the key of a numbered version, or part of a log, of one owner. */
export const formatNumberedId = (owner: string, number: number): string =>
  `${owner}/${String(number).padStart(DIGITS, '0')}`;

/** Returns the number in a key of `formatNumberedId`. */
export const parseNumber = (id: string): number => Number(id.slice(id.lastIndexOf('/') + 1));

/** Returns the range of the keys of `formatNumberedId` of one owner. */
export const createNumberedRange = (owner: string): { readonly from: string; readonly until: string } => ({
  from: `${owner}/`,
  until: `${owner}/:`, // colon is the character after 9
});

/** Returns the owner in a key of `formatNumberedId`. */
export const getOwner = (id: string): string => id.slice(0, id.lastIndexOf('/'));

export const DOCUMENT_KINDS = [
  ...VERSIONED_KINDS,
  'run',
  'kept-run',
  'run-list',
  'optimisation-run',
  'risk-model',
  'render',
  'market',
  'job',
  'job-input',
  'paused-kind',
  'delivery',
  'key',
  'key-use',
  'ended-sessions',
  'sharing',
  'history',
  'version',
  'publication',
  'publication-head',
  'publication-error',
  'signing-key',
  'data-version',
  'data-history',
  'audit',
  'audit-head',
  'audit-seal',
  'audit-push',
  'artifact-store',
  'stored-forms',
  'recorded-closures',
  'schedule-day',
  'schedule-state',
  'judgement',
  'action-decision',
  'client-secrets',
  'file-delivery',
  'approval',
  'approval-state',
] as const;

/** Number of hexadecimal digits of a run id: 64 bits. */
const ID_DIGITS = 16;

/** Returns the id of a run. It is a hash over its subject and the name of its columns file, which is never reused. */
export function computeRunId({
  run_id: subject,
  artifacts,
}: {
  readonly run_id: string;
  readonly artifacts: { readonly columns: Pick<RunDocument['artifacts']['columns'], 'name'> };
}): string {
  return createHash('sha256').update(`${subject} ${artifacts.columns.name}`).digest('hex').slice(0, ID_DIGITS);
}

/** Schema version of bodies that this release writes. A newer release wrote a body with a higher version. */
export const SCHEMA_VERSION = 1;

/** Formats a time for the wire: ISO-8601 UTC with microseconds and an offset. */
export function formatTimestamp(ms: number): string {
  return `${new Date(Math.floor(ms)).toISOString().slice(0, -1)}000+00:00`;
}

/** Returns the latest of several times in the format of `formatTimestamp`, ignoring undefined ones. */
export function findLatestTime(timestamp: string, ...others: readonly (string | undefined)[]): string {
  return others.reduce<string>((latest, time) => (time !== undefined && time > latest ? time : latest), timestamp);
}
