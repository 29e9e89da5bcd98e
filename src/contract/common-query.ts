import { z } from 'zod';
import { JOB_PRIORITIES } from '#domain/jobs/priority.js';
import type { ErrorCode } from '#domain/refusals/refusal.js';
import { Id } from '#domain/schema/shape.js';
import { createFormatQuery, getFormats } from './media-formats.js';
import type { Route } from './route.js';

const callback = z
  .url({ error: 'must be an http or https URL, for example https://desk.example/ended' })
  .max(2000)
  .optional()
  .meta({
    description:
      'URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.',
  });

const storeId = Id.optional().meta({
  description:
    'Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.',
});

/** Errors of a route whose request names a data store. */
export const STORE_ERRORS = [
  'STORE_NOT_FOUND',
  'STORE_LOADING',
  'DOCUMENT_UNREADABLE',
  'NOT_SUPPORTED',
] as const satisfies readonly ErrorCode[];

const priority = z.enum(JOB_PRIORITIES).optional().meta({
  description:
    'Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.',
});

/** Returns true for a route that starts jobs. Such a route accepts a callback and a priority. */
export function startsJobs({ success, startsJobs: isStarting = false }: Route): boolean {
  return success.status === 202 || isStarting;
}

/**
 * Returns the query schema of a route. It includes the common parameters of routes that start jobs, use a data store,
 * or respond in several formats.
 */
export function defineQuery(route: Route): z.ZodObject | undefined {
  const formats = getFormats(route);
  const commonFields = {
    ...(startsJobs(route) ? { callback, priority } : {}),
    ...(route.onStore === 'query' ? { store_id: storeId } : {}),
    ...(formats.size === 0 ? {} : { format: createFormatQuery(formats) }),
  };
  return Object.keys(commonFields).length === 0
    ? route.query
    : (route.query ?? z.strictObject({})).extend(commonFields);
}
