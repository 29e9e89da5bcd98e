import { EXPORT_FORMATS, FORMAT_NAMES, type ExportFormat } from '#domain/exports/formats.js';

/** Returns the export format of a media type. */
export function parseExportFormat(media: string): ExportFormat {
  return FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].media === media)!; // the routes offer only these media types
}

/** Returns the `Content-Type` of a format; text formats name their encoding. */
export function getContentType(format: ExportFormat): string {
  const { media } = EXPORT_FORMATS[format];
  return format === 'csv' || format === 'json' ? `${media}; charset=utf-8` : media;
}
