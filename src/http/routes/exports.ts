import type { exportRoutes } from '#contract/exports.js';
import { EXPORT_FORMATS } from '#domain/exports/formats.js';
import type { StaleState } from '#domain/backtest/stale-reasons.js';
import type { Exports } from '#services/runs/exports.js';
import { getContentType, parseExportFormat } from '../export-format.js';
import type { Handlers } from '../handler.js';
import { namesEtag } from '../reply.js';

export function createExportHandlers(exports: Exports): Handlers<typeof exportRoutes> {
  return {
    async exportRun({ params: { index_id: runId, table }, query, header, media, signal }) {
      const format = parseExportFormat(media);
      const { extension } = EXPORT_FORMATS[format];
      const { etag, stale, open } = await exports.export(
        { subject: runId, id: query.run_id },
        { ...query, table, format },
      );
      const headers = {
        'Content-Disposition': `attachment; filename="${runId}-${table}.${extension}"`,
        ...(stale === null ? {} : { 'X-Run-Stale': listParts(stale).join(', ') }),
      };
      // If the client already has this version, the response is a 304 and the file is not written.
      if (namesEtag(header('if-none-match'), etag)) return { bytes: NO_BYTES, etag, headers };
      return { ...(await open(signal)), type: getContentType(format), etag, headers };
    },
  };
}

const NO_BYTES = new Uint8Array(0);

function listParts(staleState: StaleState): string[] {
  return (['definition', 'data', 'engine'] as const).filter((part) => staleState[part]);
}
