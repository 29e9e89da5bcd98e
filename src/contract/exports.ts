import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { AsKnownOnText } from '#domain/schema/as-known-on.js';
import { EXPORT_NAMES, EXPORTS } from '#domain/exports/catalogue.js';
import type { ExportTable } from '#domain/exports/export-table.js';
import { EXPORT_FORMATS } from '#domain/exports/formats.js';
import { Id, IsoDate } from '#domain/schema/shape.js';
import { FILE_MEDIA } from './media-formats.js';
import { defineRoutes } from './route.js';
import { runState, runQuery } from './run-state.js';

export const ExportView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  table: z.enum(EXPORT_NAMES).meta({ description: 'The requested table.' }),
  columns: z.array(z.string()).meta({ description: 'Names of the columns.' }),
  data: z
    .array(z.array(z.union([z.string(), z.number()]).nullable()))
    .meta({ description: 'Rows with one value per column; dates are YYYY-MM-DD.' }),
})).meta({ id: 'ExportView' });
export type ExportView = z.infer<typeof ExportView>;

const tables = Object.entries<ExportTable>(EXPORTS).map(
  ([name, { help, columns }]) => `- \`${name}\`: ${help} Columns: ${Object.keys(columns).join(', ')}.`,
);
const formats = Object.entries(EXPORT_FORMATS).map(
  ([name, { media, help }]) => `- \`${name}\` (\`${media}\`): ${help}`,
);

export const exportRoutes = defineRoutes({
  exportRun: {
    method: 'GET',
    path: '/analytics/{index_id}/exports/{table}',
    scope: 'read',
    tag: 'analytics',
    summary: 'Returns a table of a run as a file, with its whole history.',
    description: `Tables:\n\n${tables.join('\n')}\n\nFormats, by \`format\` or else by \`Accept\`:\n\n${formats.join('\n')}\n\nWith \`as_known_on\`, the export uses the newest stored run on that version of the data. Rows are streamed. The header \`X-Run-Stale\` lists the causes of a stale run (\`definition\`, \`data\`, \`engine\`). It is absent if the run is current.`,
    params: defineObject(() => ({
      index_id: Id,
      table: z.enum(EXPORT_NAMES).meta({ description: 'The table.' }),
    })),
    query: defineObject(() => ({
      ...runQuery,
      as_known_on: AsKnownOnText,
      start: IsoDate.optional().meta({ description: 'First date. Default: the first date of the run.' }),
      end: IsoDate.optional().meta({ description: 'Last date. Default: the last date of the run.' }),
      date: IsoDate.optional().meta({
        description:
          'Session of `closing`, `opening` and `proforma`: the last session on or before this day. Default: the last session of the run.',
      }),
      by: z.string().min(1).max(64).optional().meta({
        description:
          'Reference column of the groups of `exposures` (default: SECTOR) or of the issuers of `limits` and `breaches` (ISSUER), or IDENTIFIER.',
      }),
    })),
    success: {
      status: 200,
      description: 'The rows.',
      schema: ExportView,
      media: FILE_MEDIA,
    },
    errors: [
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NO_DATA_KNOWN',
      'NO_DATA_SOURCE',
      'STORE_MISMATCH',
      'VERSION_NOT_FOUND',
      'VALIDATION_FAILED',
      'INVALID_RANGE',
      'NO_DATA_AT_DATE',
      'NO_DATA_IN_RANGE',
      'RANGE_TOO_SHORT',
      'TOTAL_LOSS',
      'NUMERIC_FAILURE',
    ],
  },
});
