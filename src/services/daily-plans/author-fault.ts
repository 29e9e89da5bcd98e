import type { DayDocument } from '#domain/daily-plans/day-document.js';
import { findStepKind } from '#domain/daily-plans/step-catalogue.js';
import type { Keys } from '../operations/keys.js';

/** Format of key ids. Other authors are subjects of tokens; only their provider knows their rights. */
const KEY_ID = /^[A-Za-z0-9]{12}$/;

/**
 * Returns the reason why a day may no longer be performed on behalf of its author: the key was revoked, has expired or
 * lacks a scope of a step. A newer key with the same name is accepted in its place.
 */
export function findAuthorFault(
  keys: Pick<Keys, 'findScopes'>,
  { author, key_id: id, plan }: Pick<DayDocument, 'author' | 'key_id' | 'plan'>,
): string | undefined {
  if (id === null || !KEY_ID.test(id)) return undefined;
  const remedy = 'Store the schedule again with a valid key, then run the day again.';
  const scopes = keys.findScopes(id, author);
  if (scopes === undefined)
    return `The key ${author} (${id}) that stored the schedule was revoked or has expired. ${remedy}`;
  if (scopes.has('admin')) return undefined;
  const deniedStep = plan.steps.find(({ type }) => !scopes.has(findStepKind(type).scope));
  if (deniedStep === undefined) return undefined;
  return `The key ${author} (${id}) that stored the schedule lacks the scope ${findStepKind(deniedStep.type).scope} of the step ${deniedStep.type}. ${remedy}`;
}
