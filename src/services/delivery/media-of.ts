import { EXPORT_FORMATS } from '#domain/exports/formats.js';

const MEDIA = new Map<string, string>([
  ...Object.values(EXPORT_FORMATS).map(({ extension, media }) => [extension, media] as const),
  ['pdf', 'application/pdf'],
]);

/** Media type of a file by the end of its name. */
export const mediaOf = (name: string): string =>
  MEDIA.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? 'application/octet-stream';
