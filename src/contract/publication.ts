import { z } from 'zod';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { ErrorPolicy, PublicationEntry, PublicKey, PublishedError } from '#domain/definition/publication.js';
import { BUNDLE_MEDIA, defineRoutes, LOG_MEDIA } from './route.js';
import { skippedFields } from './payloads.js';
import { RunKey, runParameter, StaleStatePayload } from './run.js';

/** Maximum length of the reason for a restatement: about one paragraph, in characters. */
const REASON_LENGTH_MAX = 2000;

export const PublishRequest = defineObject(() => ({
  ...runParameter,
  through: IsoDate.optional().meta({
    description:
      'Last date to publish. Default: the last date of the run. The request is refused if the run lacks a session on or before this date.',
  }),
  restate: z.boolean().default(false).meta({ description: 'True publishes closes with differences again.' }),
  reason: z
    .string()
    .max(REASON_LENGTH_MAX)
    .optional()
    .meta({ description: 'Reason, which the log records. A restatement requires a reason.' }),
  error_policy: ErrorPolicy.optional().meta({
    description:
      'Treatment of published closes that differ from the run. Default: the publication is refused with RESTATEMENT.',
  }),
  allow_partial: z.boolean().default(false).meta({
    description: 'True publishes closes for which constituents have no bar. The entries record this.',
  }),
})).meta({ id: 'PublishRequest' });
export type PublishRequest = z.infer<typeof PublishRequest>;

export const Publication = defineObject(() => ({
  published: z.int().min(0).meta({ description: 'Number of closes that were published for the first time.' }),
  restated: z.int().min(0).meta({ description: 'Number of closes that were published again.' }),
  through: z.string().nullable().meta({ description: 'Last published date; null if there is none.' }),
  head: z.string().meta({ description: 'Hash of the last entry; 64 zeros for an empty log.' }),
  run_id: RunKey.meta({ description: 'Id of the run that contains these closes.' }),
  error: PublishedError.omit({ seq: true }).nullable().meta({
    id: 'DecidedError',
    description: 'Difference from published closes, with the decision; null if there is none.',
  }),
  stale: StaleStatePayload.nullable().meta({
    description: 'Differences between the run and a new run of the same request; null if the run is current.',
  }),
})).meta({ id: 'Publication' });
export type Publication = z.infer<typeof Publication>;

export const PublishedLog = defineObject(() => ({
  entries: z.array(PublicationEntry).meta({ description: 'Entries, in the order of the log.' }),
})).meta({ id: 'PublishedLog' });

export const PublishedErrors = defineObject(() => ({
  errors: z.array(PublishedError).meta({ description: 'Newest first.' }),
})).meta({ id: 'PublishedErrors' });

export const PublicKeys = defineObject(() => ({
  keys: z.array(PublicKey).meta({ description: 'Oldest first.' }),
  ...skippedFields,
})).meta({ id: 'PublicKeys' });
export type PublicKeys = z.infer<typeof PublicKeys>;

const params = defineObject(() => ({ index_id: Id }));

export const publicationRoutes = defineRoutes('publication', {
  publishIndex: {
    method: 'POST',
    path: '/analytics/{index_id}/publish',
    scope: 'publish',
    summary:
      'Publishes the closes of a run that are not yet published. Default: the newest current run; the response states its id.',
    description:
      'Entries are appended to a log, which is a chain of hashes signed with Ed25519. Published closes are final. A run with differences is refused with RESTATEMENT, unless the closes are restated with a reason, or the request has an `error_policy`. Under an error policy, differences below the threshold are left unchanged, material differences within the window are restated, and older ones are announced. Closes for which constituents have no bar are refused with PARTIAL_CLOSES, unless `allow_partial` is set.',
    params,
    body: { schema: PublishRequest, optional: true, example: { through: '2024-06-28' } },
    success: { status: 200, description: 'The appended entries.', schema: Publication },
    errors: [
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'NO_CURRENT_RUN',
      'DOCUMENT_UNREADABLE',
      'NO_DATA_IN_RANGE',
      'RESTATEMENT',
      'PARTIAL_CLOSES',
      'APPROVAL_REQUIRED',
    ],
  },
  getPublished: {
    method: 'GET',
    path: '/analytics/{index_id}/published',
    scope: 'read',
    summary: 'Returns the published log of an index, even after the deletion of the index.',
    description: `With \`Accept: ${LOG_MEDIA}\`, the response has one entry per line, which is the input of \`divisor verify-published\`.`,
    params,
    query: defineObject(() => ({
      start: IsoDate.optional().meta({ description: 'First date.' }),
      end: IsoDate.optional().meta({ description: 'Last date.' }),
    })),
    success: { status: 200, description: 'The entries.', schema: PublishedLog, media: [LOG_MEDIA] },
    errors: ['NOTHING_PUBLISHED', 'INVALID_RANGE', 'DOCUMENT_UNREADABLE'],
  },
  getPublishedBundle: {
    method: 'GET',
    path: '/analytics/{index_id}/published/bundle',
    scope: 'read',
    summary: 'Returns a signed archive of all inputs that are needed to recompute the published closes of an index.',
    description:
      'The response is a tar archive. It contains the plan of the newest published run with its definitions and amendments, the data that the run reads, calendars, the log, public keys, and a signed list of hashes. The page `/verify` and `divisor verify-bundle` recompute every close from it. The service recomputes the closes before it responds. The audit log records each download.',
    params,
    success: { status: 200, description: 'The archive.', media: [BUNDLE_MEDIA] },
    errors: [
      'NOTHING_PUBLISHED',
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NO_DATA_SOURCE',
      'NO_DATA_KNOWN',
      'VERSION_NOT_FOUND',
      'STORE_MISMATCH',
      'NOT_REPRODUCED',
    ],
  },
  listPublishedErrors: {
    method: 'GET',
    path: '/analytics/{index_id}/published/errors',
    scope: 'read',
    withoutMarket: true,
    summary: 'Lists the register of errors in published closes: size, decision, and the notice for clients.',
    description:
      'The register contains every restatement, and every difference that an error policy announced or left unchanged. Entries never change.',
    params,
    query: defineObject(() => ({
      limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of entries.' }),
    })),
    success: { status: 200, description: 'Errors, newest first.', schema: PublishedErrors },
  },
  getPublishedKeys: {
    method: 'GET',
    path: '/analytics/{index_id}/published/keys',
    call: 'publications.keys',
    scope: 'read',
    summary: 'Lists the public keys that sign published logs.',
    params,
    success: { status: 200, description: 'The keys.', schema: PublicKeys },
    errors: ['NOTHING_PUBLISHED', 'DOCUMENT_UNREADABLE'],
  },
  rotateSigningKey: {
    method: 'POST',
    path: '/publication/keys',
    scope: 'admin',
    summary: 'Replaces the signing key.',
    description: 'Signatures of earlier keys stay valid, because each entry states its key.',
    success: { status: 200, description: 'The public part of the new key.', schema: PublicKey },
  },
});
