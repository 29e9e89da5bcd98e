import type { sqlRoutes } from '#contract/sql.js';
import type { Sql } from '#services/sql/sql.js';
import { EXPORT_FORMATS } from '#domain/exports/formats.js';
import { getContentType, parseExportFormat } from '../export-format.js';
import type { Handlers } from '../handler.js';

export function createSqlHandlers(sql: Sql): Handlers<typeof sqlRoutes> {
  return {
    async runSql({ body, media, principal, signal }) {
      const { query, format: namedFormat } = body();
      const format = namedFormat ?? (parseExportFormat(media) as 'json' | 'csv' | 'arrow' | 'parquet'); // the route offers these formats
      const { stream, rows, isTruncated } = await sql.answer({ query, format }, { client: principal.keyId, signal });
      const headers = {
        'X-Rows': String(rows),
        'X-Truncated': String(isTruncated),
        ...(format === 'json'
          ? {}
          : { 'Content-Disposition': `attachment; filename="result.${EXPORT_FORMATS[format].extension}"` }),
      };
      return { stream, type: getContentType(format), headers };
    },
  };
}
