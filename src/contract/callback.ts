import { z } from 'zod';
import type { Route } from './route.js';

const callback = z.url().max(2000).optional().meta({
  description:
    'Address that is sent word of the end of each job this request starts: an http or https URL on a host that the operator allows.',
});

/** Whether a route starts jobs, which may be given a callback. */
export function startsJobs({ success, startsJobs: starts = false }: Route): boolean {
  return success.status === 202 || starts;
}

/** The query of a route, with what all routes that start jobs take. */
export function queryOf(route: Route): z.ZodObject | undefined {
  return startsJobs(route) ? (route.query ?? z.strictObject({})).extend({ callback }) : route.query;
}
