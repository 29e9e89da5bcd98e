import { API } from '#contract/api.js';
import { type Body, checkBody, readBodyText, type Route } from '#contract/route.js';
import type { Task } from '#jobs/tasks/catalogue.js';

const ROUTES: Readonly<Record<string, Route>> = API;

/** Parses and checks the body of a request. */
export const checkRequestBody: Task<'check-body'> = ({ operation, bytes }) => {
  const body: Body = ROUTES[operation]!.body!; // only routes with a body send it
  const checkedBody = checkBody(body, readBodyText(body, bytes), true);
  return 'refusal' in checkedBody ? { error: checkedBody.refusal.toDetail() } : { value: checkedBody.value };
};
