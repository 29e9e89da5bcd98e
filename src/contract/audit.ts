import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { AuditEntry, AuditHead, AuditSeal, AUDIT_KINDS } from '#domain/documents/audit-document.js';
import { PublicKey } from '#domain/documents/publication-document.js';
import { isMoment, MOMENT } from '#domain/time/moment.js';
import { skippedFields } from './common.js';
import { defineRoutes } from './route.js';
import { LOG_MEDIA } from './media-formats.js';

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

export const auditRoutes = defineRoutes({
  getAudit: {
    method: 'GET',
    path: '/audit',
    scope: 'audit',
    tag: 'publication',
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
