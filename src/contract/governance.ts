import { z } from 'zod';
import { defineObject, Id } from '#domain/base/schema.js';
import { isMoment, MOMENT } from '#domain/base/time.js';
import { APPROVAL_ACTION_NAMES } from '#domain/definition/approvals.js';
import { AUDIT_KINDS, AuditEntry, AuditHead, AuditSeal, VERSION_ACTIONS } from '#domain/definition/versions.js';
import { Judgement } from '#domain/definition/daily-plan-checks.js';
import { PriceOverride } from '#domain/definition/datasets.js';
import { Amendment } from '#domain/definition/index-document.js';
import { PROCEDURE_KINDS, ProcedureDocument } from '#domain/definition/procedures.js';
import { PublicKey, PublishedError } from '#domain/definition/publication.js';
import { listingQuery, purgeQuery, skippedFields } from './payloads.js';
import { defineDocumentRoutes, defineRoutes, LOG_MEDIA } from './route.js';

export const AuditLog = defineObject(() => ({
  head: AuditHead.meta({ description: 'Position and hash of the last entry. Record them outside the service.' }),
  seals: z.array(AuditSeal).meta({
    description: 'Signatures of the log after `after`. Each request for the log signs it up to its end.',
  }),
  keys: z.array(PublicKey).meta({ description: 'Keys of the signatures, oldest first.' }),
  ...skippedFields,
  entries: z.array(AuditEntry).meta({ description: 'Entries, in the order of the log.' }),
})).meta({ id: 'AuditLog' });

const message = 'must be a date or a time, for example 2024-01-31 or 2024-01-31T17:30:00Z';
const momentText = z.string().regex(MOMENT, { message, abort: true }).refine(isMoment, { message });

export const auditRoutes = defineRoutes('publication', {
  getAudit: {
    method: 'GET',
    path: '/audit',
    scope: 'audit',
    summary: 'Lists every write of a document and every publication, with author, time, request and version.',
    description: `The log is a chain of hashes, signed with Ed25519. \`divisor verify\` in a home and \`divisor audit --check\` on a file detect entries that were changed, moved or removed. With \`Accept: ${LOG_MEDIA}\`, the response has one entry per line. A whole log ends with its signatures, as objects with the member seal.`,
    query: defineObject(() => ({
      start: momentText.optional().meta({ description: 'Only entries at or after this day or time.' }),
      end: momentText.optional().meta({ description: 'Only entries at or before this day or time.' }),
      kind: z.enum(AUDIT_KINDS).optional().meta({ description: 'Kind of document.' }),
      id: z.string().min(1).max(200).optional().meta({
        description:
          'Id of a document. Entries that belong to the document, such as published closes of an index, are included.',
      }),
      author: z.string().min(1).max(200).optional().meta({ description: 'Author of the write.' }),
      after: z.int().min(0).default(0).meta({ description: 'Only entries with a higher number.' }),
      limit: z.int().min(1).max(100_000).optional().meta({ description: 'Maximum number of entries. Default: all.' }),
    })),
    success: { status: 200, description: 'The entries.', schema: AuditLog, media: [LOG_MEDIA] },
    errors: ['INVALID_RANGE', 'DOCUMENT_UNREADABLE'],
  },
});

export const ProcedurePayload = defineObject(() => ({
  ...ProcedureDocument.shape,
  procedure_id: z.string(),
  version: z.int().min(0).meta({ description: 'Newest version of the procedure.' }),
  updated_at: z.string(),
})).meta({ id: 'Procedure' });
export type ProcedurePayload = z.infer<typeof ProcedurePayload>;

const ProcedureCollection = defineObject(() => ({
  procedures: z.array(ProcedurePayload).meta({ description: 'Procedures by id.' }),
  ...skippedFields,
})).meta({ id: 'ProcedureCollection' });

export const MethodologyChange = defineObject(() => ({
  version: z.int().min(1).meta({ description: 'Version of the definition.' }),
  at: z.string().meta({ description: 'Time of the write.' }),
  author: z.string().meta({ description: 'Name of the key.' }),
  note: z.string().nullable().meta({ description: 'Note from the header X-Change-Note.' }),
  action: z.enum(VERSION_ACTIONS).meta({ description: 'Effect of the write.' }),
  removed: z.array(z.string()).meta({ description: 'Sentences of the methodology that no longer apply.' }),
  added: z.array(z.string()).meta({ description: 'Sentences that replace them.' }),
})).meta({ id: 'MethodologyChange' });
export type MethodologyChange = z.infer<typeof MethodologyChange>;

const MethodologyChanges = defineObject(() => ({
  changes: z.array(MethodologyChange).meta({ description: 'Versions, newest first.' }),
  amendments: z.array(Amendment).meta({ description: 'Dated changes of the current definition, earliest first.' }),
})).meta({ id: 'MethodologyChanges' });

export const BenchmarkStatement = defineObject(() => ({
  index_id: z.string(),
  name: z.string(),
  generated_at: z.string().meta({ description: 'Time at which the statement was generated.' }),
  version: z.int().nullable().meta({
    description:
      'Version of the definition that the statement describes: the version of the last published close. Default: the newest.',
  }),
  latest_version: z.int().nullable().meta({
    description: 'Newest version of the definition. It is not published if it differs from `version`.',
  }),
  purpose: z.string().nullable().meta({ description: 'Description of the index: the market that it measures.' }),
  methodology: z.array(z.string()).meta({ description: 'The definition in sentences.' }),
  calendar: z
    .strictObject({
      code: z.string().meta({ description: 'Exchange whose sessions determine the closes.' }),
      covered_to: z.string().nullable().meta({ description: 'Last day whose closures come from a published list.' }),
    })
    .meta({ description: 'Calendar of the index.' }),
  inputs: z
    .strictObject({
      indices: z.array(z.string()).meta({ description: 'Underlying indices.' }),
      adjustment: z
        .string()
        .nullable()
        .meta({ description: 'Price basis of the served store; null if no store is served.' }),
      hierarchy: z.array(z.string()).meta({ description: 'Data that the index uses, in order of preference.' }),
    })
    .meta({ description: 'Input data.' }),
  discretion: z
    .strictObject({
      approvals: z
        .array(
          z.strictObject({
            action: z.enum(APPROVAL_ACTION_NAMES).meta({ description: 'Change.' }),
            persons: z.int().meta({ description: 'Number of people who must agree.' }),
          }),
        )
        .meta({ description: 'Changes that need the agreement of several people.' }),
      judgements: z.array(Judgement).meta({
        description:
          'Decisions about days of the schedules, newest first; at most 50. A waiver lists the findings about the index and its parents. Days that were performed without a reason are not listed.',
      }),
      overrides: z.array(PriceOverride).meta({
        description:
          'Prices that replace prices of the source, for securities that the run holds or buys at that close. Latest session first; at most 50.',
      }),
    })
    .meta({ description: 'Discretion of the administrator, with records of its use.' }),
  limitations: z
    .array(z.string())
    .meta({ description: 'Circumstances in which the index may not represent its market.' }),
  changes: z.array(MethodologyChange).meta({
    description: 'Versions of the definition up to the described version, newest first; at most 50.',
  }),
  amendments: z.array(Amendment).meta({ description: 'Dated changes of the definition.' }),
  review: z
    .strictObject({
      frequency: z.string().meta({ description: 'Frequency of the reviews of its constituents.' }),
      upcoming: z.array(z.string()).meta({ description: 'Next effective dates of reviews.' }),
    })
    .meta({ description: 'Reviews of constituents.' }),
  publication: z
    .strictObject({
      first: z.string().meta({ description: 'First published date.' }),
      through: z.string().meta({ description: 'Last published date.' }),
      closes: z.int().meta({ description: 'Number of closes that were published for the first time.' }),
      restatements: z.int().meta({ description: 'Number of closes that were published again.' }),
      index_version: z
        .int()
        .nullable()
        .meta({ description: 'Version of the definition of the last published close; null if it is unknown.' }),
    })
    .nullable()
    .meta({ description: 'Published closes; null if there are none.' }),
  errors: z.array(PublishedError).meta({ description: 'Register of errors, newest first; at most 50.' }),
  procedures: z
    .array(ProcedurePayload)
    .meta({ description: 'Procedures of the administrator that apply to the index.' }),
})).meta({ id: 'BenchmarkStatement' });
export type BenchmarkStatement = z.infer<typeof BenchmarkStatement>;

/** Sections of a statement that the administrator completes. */
const STATEMENT_SECTIONS = ['purpose', 'procedures'] as const;

const defineEntryCount = (description: string) => z.int().min(0).meta({ description });

export const GovernanceOverview = defineObject(() => ({
  registers: z
    .strictObject({
      clients: defineEntryCount('Receivers of files.'),
      procedures: defineEntryCount('Procedures of the administrator.'),
      errors: defineEntryCount('Entries of the registers of errors of all indices.'),
      judgements: defineEntryCount('Decisions about days of all schedules.'),
      audit: defineEntryCount('Entries of the audit log.').nullable().meta({
        description: 'Number of entries of the audit log; null for a client that is limited to its own documents.',
      }),
    })
    .meta({ description: 'Number of entries of each register.' }),
  statements: z
    .array(
      z.strictObject({
        index_id: z.string(),
        published_through: z.string().nullable().meta({ description: 'Last published date; null if there is none.' }),
        entries: z.int().min(0).nullable().meta({
          description:
            'Number of entries of the published log, including restatements; null if the log cannot be read.',
        }),
        version: z.int().nullable().meta({ description: 'Newest version of the definition; null without versions.' }),
        published_version: z.int().nullable().meta({
          description:
            'Version of the definition of the last published close; null if nothing is published, or if it is unknown.',
        }),
        to_complete: z.array(z.enum(STATEMENT_SECTIONS)).meta({
          description:
            'Sections of the statement that are empty: the purpose if the index has no description, the procedures if none applies to it.',
        }),
        errors: defineEntryCount('Number of entries of the register of errors.'),
        data_through: z.string().nullable().meta({
          description: 'Last date of the data store of the index; null if the store has no data.',
        }),
        sessions_behind: z.int().min(0).nullable().meta({
          description:
            'Sessions of the index after its last published date, up to the last date of the data. Null if nothing is published or the store has no data.',
        }),
      }),
    )
    .meta({ description: 'State of the benchmark statements, by id of the index.' }),
  latest_errors: z.array(PublishedError).meta({ description: 'Newest entries of the registers of errors; up to 5.' }),
  latest_judgements: z.array(Judgement).meta({
    description: 'Newest decisions with a reason about days of schedules; up to 5.',
  }),
})).meta({ id: 'GovernanceOverview' });
export type GovernanceOverview = z.infer<typeof GovernanceOverview>;

const params = defineObject(() => ({ procedure_id: Id.meta({ description: 'Id of the procedure.' }) }));
const indexPath = defineObject(() => ({ index_id: Id }));
const kinds = Object.entries(PROCEDURE_KINDS).map(([kind, help]) => `- \`${kind}\`: ${help}`);
const MARKDOWN = 'text/markdown';

export const governanceRoutes = defineDocumentRoutes('governance', {
  getGovernance: {
    method: 'GET',
    path: '/governance',
    scope: 'read',
    summary: 'Returns the number of entries of each register, and the published closes and errors of each index.',
    success: { status: 200, description: 'The overview.', schema: GovernanceOverview },
    errors: ['DOCUMENT_UNREADABLE'],
  },
  getStatement: {
    method: 'GET',
    path: '/indices/{index_id}/statement',
    scope: 'read',
    summary: 'Returns the benchmark statement of an index, which is generated from its documents and registers.',
    description:
      'The statement contains purpose, methodology, inputs and their hierarchy, discretion, limitations, changes, reviews, published closes, errors and procedures. With `Accept: text/markdown`, the response is a text for publication.',
    params: indexPath,
    success: { status: 200, description: 'The statement.', schema: BenchmarkStatement, media: [MARKDOWN] },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  listMethodologyChanges: {
    method: 'GET',
    path: '/indices/{index_id}/changes',
    scope: 'read',
    summary:
      'Lists the changes of a methodology: each version with the sentences that it changed, and dated amendments.',
    params: indexPath,
    query: defineObject(() => ({
      limit: z.int().min(1).max(500).default(50).meta({ description: 'Maximum number of entries.' }),
    })),
    success: { status: 200, description: 'The changes.', schema: MethodologyChanges },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  listProcedures: {
    method: 'GET',
    path: '/procedures',
    scope: 'read',
    summary: 'Lists the procedures of the administrator.',
    query: listingQuery,
    success: { status: 200, description: 'Procedures by id.', schema: ProcedureCollection },
  },
  getProcedure: {
    method: 'GET',
    path: '/procedures/{procedure_id}',
    call: 'procedures.get',
    scope: 'read',
    summary: 'Returns one procedure.',
    params,
    success: { status: 200, description: 'The procedure.', schema: ProcedurePayload },
    errors: ['PROCEDURE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putProcedure: {
    method: 'PUT',
    path: '/procedures/{procedure_id}',
    call: 'procedures.put',
    scope: 'write',
    summary: 'Creates or replaces a procedure of the administrator.',
    description: `Benchmark statements contain the procedures of their index. Kinds:\n\n${kinds.join('\n')}`,
    versioned: true,
    params,
    body: {
      schema: ProcedureDocument,
      example: {
        name: 'Cessation of large cap indices',
        kind: 'cessation',
        text: 'An index ends six months after its notice.',
        indices: ['LARGE-100'],
      },
    },
    success: { status: 200, description: 'The procedure as stored.', schema: ProcedurePayload },
    errors: ['PRECONDITION_FAILED'],
  },
  deleteProcedure: {
    method: 'DELETE',
    path: '/procedures/{procedure_id}',
    call: 'procedures.remove',
    scope: 'write',
    summary: 'Deletes a procedure.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['PROCEDURE_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
});
