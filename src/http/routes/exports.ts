import type { exportRoutes } from '#contract/exports.js';
import { EXPORT_FORMATS, FORMAT_NAMES, type ExportFormat } from '#domain/exports/formats.js';
import type { StaleState } from '#domain/backtest/stale.js';
import type { Exports } from '#services/runs/exports.js';
import type { Handlers } from '../handler.js';
import { negotiate } from '../negotiate.js';
import { namesEtag } from '../reply.js';

const MEDIA = FORMAT_NAMES.map((name) => EXPORT_FORMATS[name].media);

export function exportHandlers(exports: Exports): Handlers<typeof exportRoutes> {
  return {
    async exportRun({ params: { index_id: runId, table }, query, header, signal }) {
      const format = query.format ?? acceptedFormat(header('accept'));
      const { media, extension } = EXPORT_FORMATS[format];
      const { etag, stale, open } = await exports.export(runId, { ...query, table, format });
      const headers = {
        'Content-Disposition': `attachment; filename="${runId}-${table}.${extension}"`,
        ...(stale === null ? {} : { 'X-Run-Stale': partsOf(stale).join(', ') }),
      };
      // What the client has already need not be made.
      if (namesEtag(header('if-none-match'), etag)) return { bytes: NOTHING, etag, headers };
      return { stream: await open(signal), type: typeOf(media), etag, headers };
    },
  };
}

const NOTHING = new Uint8Array(0);

function acceptedFormat(accept: string | undefined): ExportFormat {
  const media = negotiate(accept, MEDIA);
  return FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].media === media)!; // One of those offered.
}

/** Text says how it is encoded. */
function typeOf(media: string): string {
  return media === EXPORT_FORMATS.csv.media || media === EXPORT_FORMATS.json.media ? `${media}; charset=utf-8` : media;
}

function partsOf(stale: StaleState): string[] {
  return (['definition', 'data', 'engine'] as const).filter((part) => stale[part]);
}
