import { EXPORT_FORMATS, FORMAT_NAMES, type ExportFormat } from '#domain/exports/formats.js';
import { negotiate } from './negotiate.js';

const MEDIA = FORMAT_NAMES.map((name) => EXPORT_FORMATS[name].media);

/** The format that a request asks for, else that of its `Accept`. @throws Refusal NOT_ACCEPTABLE */
export function exportFormat(asked: ExportFormat | undefined, accept: string | undefined): ExportFormat {
  if (asked !== undefined) return asked;
  const media = negotiate(accept, MEDIA);
  return FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].media === media)!; // One of those offered.
}

/** The `Content-Type` of a format: text says how it is encoded. */
export function contentTypeOf(format: ExportFormat): string {
  const { media } = EXPORT_FORMATS[format];
  return format === 'csv' || format === 'json' ? `${media}; charset=utf-8` : media;
}
