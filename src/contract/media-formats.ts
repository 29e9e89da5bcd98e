import { z } from 'zod';
import { EXPORT_FORMATS } from '#domain/exports/formats.js';
import type { Route } from './route.js';

/** Default media type of all routes. */
export const JSON_TYPE = 'application/json';

/** Media types of tables as files. */
export const FILE_MEDIA: readonly string[] = Object.values(EXPORT_FORMATS)
  .map(({ media }) => media as string)
  .filter((media) => media !== JSON_TYPE);

/** Media type of a log with one JSON object per line. */
export const LOG_MEDIA = 'application/x-ndjson';

/**
 * Media type of a calendar file.
 * @source RFC 5545
 */
export const CALENDAR_MEDIA = 'text/calendar';

/** Media types of a guide page as HTML and as Markdown. */
export const PAGE_MEDIA = 'text/html';
export const MARKDOWN_MEDIA = 'text/markdown';

/**
 * Media types by their name in the query parameter `format`. Browsers and spreadsheets use it, because they cannot send
 * an Accept header.
 */
const FORMAT_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(EXPORT_FORMATS).map(([name, { media }]) => [media, name])),
  [LOG_MEDIA]: 'ndjson',
  [CALENDAR_MEDIA]: 'ics',
  [PAGE_MEDIA]: 'html',
  [MARKDOWN_MEDIA]: 'md',
};

/** Returns the media types of a route's responses, JSON first. Returns none if the handler chooses the media type. */
export function listMediaTypes({ success: { schema, media = [] } }: Pick<Route, 'success'>): readonly string[] {
  return schema === undefined ? media : [JSON_TYPE, ...media];
}

/**
 * Returns the media types of a route by their name in `format`. Returns none if the route has only one media type, or
 * if it declares `format` itself.
 */
export function getFormats(route: Route): ReadonlyMap<string, string> {
  const offeredTypes = listMediaTypes(route);
  if (offeredTypes.length < 2 || route.query?.shape['format'] !== undefined) return new Map();
  return new Map(offeredTypes.map((media) => [getFormatName(media), media]));
}

/** Returns the query parameter that selects the format. */
export function createFormatQuery(formats: ReadonlyMap<string, string>): z.ZodType {
  const [first, ...others] = formats.keys();
  return z
    .enum([first!, ...others])
    .optional()
    .meta({ description: 'Format of the response. It replaces `Accept`.' });
}

function getFormatName(media: string): string {
  const name = FORMAT_NAMES[media];
  if (name === undefined) throw new Error(`${media} has no name for an address: add it to the formats`);
  return name;
}

/** Media type of the bundle of a published index. */
export const BUNDLE_MEDIA = 'application/x-tar';
