import { z } from 'zod';
import { EXPORT_FORMATS } from '#domain/exports/formats.js';
import type { Route } from './route.js';

/** Default media type of every route. */
export const JSON_TYPE = 'application/json';

/** Media types of a table as a file. */
export const FILE_MEDIA: readonly string[] = Object.values(EXPORT_FORMATS)
  .map(({ media }) => media as string)
  .filter((media) => media !== JSON_TYPE);

/** A log with one JSON object per line. */
export const LOG_MEDIA = 'application/x-ndjson';

/** A calendar file (RFC 5545). */
export const CALENDAR_MEDIA = 'text/calendar';

/** A page of the guide as HTML and as Markdown. */
export const PAGE_MEDIA = 'text/html';
export const MARKDOWN_MEDIA = 'text/markdown';

/** Names of media types in the query parameter `format`, for browsers and spreadsheets that send no header. */
const FORMAT_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(EXPORT_FORMATS).map(([name, { media }]) => [media, name])),
  [LOG_MEDIA]: 'ndjson',
  [CALENDAR_MEDIA]: 'ics',
  [PAGE_MEDIA]: 'html',
  [MARKDOWN_MEDIA]: 'md',
};

/** Media types of a route's responses, JSON first; empty if its handler chooses them. */
export function listMediaTypes({ success: { schema, media = [] } }: Pick<Route, 'success'>): readonly string[] {
  return schema === undefined ? media : [JSON_TYPE, ...media];
}

/**
 * Returns the media types of a route by the names of `format`; none if it has only one, or declares its own `format`.
 */
export function formatsOf(route: Route): ReadonlyMap<string, string> {
  const offered = listMediaTypes(route);
  if (offered.length < 2 || route.query?.shape['format'] !== undefined) return new Map();
  return new Map(offered.map((media) => [nameOf(media), media]));
}

/** Returns the query parameter that selects the format. */
export function formatQuery(formats: ReadonlyMap<string, string>): z.ZodType {
  const [first, ...others] = formats.keys();
  return z
    .enum([first!, ...others])
    .optional()
    .meta({ description: 'Instead of `Accept`.' });
}

function nameOf(media: string): string {
  const name = FORMAT_NAMES[media];
  if (name === undefined) throw new Error(`${media} has no name for an address: add it to the formats`);
  return name;
}

/** Media type of a bundle of a published index. */
export const BUNDLE_MEDIA = 'application/x-tar';
