import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';
import { EXPORT_FORMATS, SQL_VIEWS } from '#domain/outputs/exports.js';
import { LIMITS } from '#domain/base/limits.js';
import { defineRoutes } from './route.js';

/** Formats of a query result. The first format is the default. */
export const SQL_FORMATS = ['json', 'csv', 'arrow', 'parquet'] as const;
export type SqlFormat = (typeof SQL_FORMATS)[number];

const SqlRequest = defineObject(() => ({
  query: z
    .string()
    .min(1)
    .max(LIMITS.MAX_SQL_LENGTH)
    .meta({ description: 'One SELECT statement in the SQL of DuckDB.' }),
  format: z.enum(SQL_FORMATS).optional().meta({ description: 'Format of the response. It replaces `Accept`.' }),
})).meta({ id: 'SqlRequest' });

export const SqlResult = defineObject(() => ({
  columns: z
    .array(
      z
        .strictObject({
          name: z.string(),
          type: z.enum(['date', 'text', 'number', 'count']).meta({
            description: 'Type of the column. `count`: a whole number of 32 bits, or 1 and 0 for true and false.',
          }),
        })
        .meta({ id: 'SqlColumn' }),
    )
    .meta({ description: 'Columns of the result.' }),
  data: z
    .array(z.array(z.union([z.string(), z.number()]).nullable()))
    .meta({ description: 'Rows with one value per column; dates are YYYY-MM-DD.' }),
  rows: z.int().min(0).meta({ description: 'Number of rows.' }),
  truncated: z.boolean().meta({ description: `True if rows beyond ${LIMITS.MAX_SQL_ROWS} were omitted.` }),
})).meta({ id: 'SqlResult' });
export type SqlResult = z.infer<typeof SqlResult>;

const views = Object.entries(SQL_VIEWS).map(
  ([name, { help, columns }]) => `- \`${name}\`: ${help} Columns: ${Object.keys(columns).join(', ')}.`,
);

export const sqlRoutes = defineRoutes('analytics', {
  runSql: {
    method: 'POST',
    path: '/sql',
    onStore: 'query',
    scope: 'read',
    summary: 'Runs an SQL query on runs, prices and reference data.',
    description: `The query runs in a separate process and cannot change data. Views:\n\n${views.join('\n')}\n\nA view of runs contains the newest run of each index that the key can read. A query can read at most ${LIMITS.MAX_SQL_RUNS} runs, which it selects by \`index_id\`. \`information_schema.columns\` describes the columns in \`COLUMN_COMMENT\`. An error is a finding with its line, column and position. Results are cut after ${LIMITS.MAX_SQL_ROWS} rows; \`truncated\` and the header \`X-Truncated\` report this. A query beyond a limit of time or memory is refused with \`QUERY_LIMIT\`, which contains the limit and its setting. A key has at most two running queries and ${LIMITS.MAX_SQL_UNREAD_BYTES / 1e6} MB of results that it has not read; further queries wait. After ${LIMITS.MAX_SQL_TURN_SECONDS} seconds, a query pauses while a key that runs none waits.`,
    body: {
      schema: SqlRequest,
      example: {
        query:
          "SELECT w.date, sum(w.weight * p.CLOSE) AS average_price FROM weights w JOIN prices p USING (date, identifier) WHERE w.index_id = 'LARGE-100' GROUP BY w.date ORDER BY w.date DESC LIMIT 3",
      },
    },
    success: {
      status: 200,
      description: 'The rows.',
      schema: SqlResult,
      media: SQL_FORMATS.slice(1).map((format) => EXPORT_FORMATS[format].media),
    },
    errors: ['NO_DATA_SOURCE', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});
