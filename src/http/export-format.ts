import { EXPORT_FORMATS, FORMAT_NAMES, type ExportFormat } from '#domain/exports/formats.js';

/** The format of a media type that a request is answered with. */
export function exportFormat(media: string): ExportFormat {
  return FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].media === media)!; // The routes offer these alone.
}

/** The `Content-Type` of a format: text says how it is encoded. */
export function contentTypeOf(format: ExportFormat): string {
  const { media } = EXPORT_FORMATS[format];
  return format === 'csv' || format === 'json' ? `${media}; charset=utf-8` : media;
}
