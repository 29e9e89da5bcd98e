import { API } from '#contract/api.js';
import { type Body, checkBody, readBodyText, type Route } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import { answerBytes } from '../output/hand-over.js';

const ROUTES: Readonly<Record<string, Route>> = API;

/** Parses and checks the body of a request. */
export const checkRequestBody: Task<'check-body'> = ({ operation, bytes }) => {
  const body: Body = ROUTES[operation]!.body!; // only routes with a body send it
  const scannedText = readBodyText(body, new Uint8Array(bytes)); // a decoder does not read shared memory
  const checkedBody = checkBody(body, scannedText, true);
  if ('refusal' in checkedBody) return { error: checkedBody.refusal.toDetail() };
  const { value } = checkedBody;
  if (scannedText.values <= LIMITS.MAX_DIRECT_VALUES) return { value };
  const { lines } = body;
  if (lines === undefined) return { json: body.document === true ? scannedText.text : JSON.stringify(value) };
  const { [lines]: entries, ...members } = value as Readonly<Record<string, readonly unknown[]>>; // the schema has checked the list
  return {
    json: JSON.stringify({ ...members, [lines]: [] }),
    lines: answerBytes(entries!.map((entry) => JSON.stringify(entry)).join('\n')),
  };
};
