import { EXPORT_FORMATS } from '#domain/exports/formats.js';

const MEDIA = new Map<string, string>([
  ...Object.values(EXPORT_FORMATS).map(({ extension, media }) => [extension, media] as const),
  ['pdf', 'application/pdf'],
]);

/** Returns the media type of a file by its extension. */
export const getMedia = (name: string): string =>
  MEDIA.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? 'application/octet-stream';
