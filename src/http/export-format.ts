import { EXPORT_FORMATS, FORMAT_NAMES, type ExportFormat } from '#domain/exports/formats.js';

/** The format that a request asks for, else that of the media type its `Accept` is met by. */
export function exportFormat(asked: ExportFormat | undefined, media: string): ExportFormat {
  return asked ?? FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].media === media)!; // The routes offer these alone.
}

/** The `Content-Type` of a format: text says how it is encoded. */
export function contentTypeOf(format: ExportFormat): string {
  const { media } = EXPORT_FORMATS[format];
  return format === 'csv' || format === 'json' ? `${media}; charset=utf-8` : media;
}
