import type { DayDocument } from '#domain/daily-plans/day-document.js';
import { findStepKind } from '#domain/daily-plans/step-catalogue.js';
import type { Keys } from '../operations/keys.js';

/**
 * Format of key ids. An author with another id is the subject of a token; the service cannot check the rights of that
 * subject.
 */
const KEY_ID = /^[A-Za-z0-9]{12}$/;

/**
 * Returns the reason why the author's key can no longer run a day: the key was revoked, it has expired, or it lacks a
 * scope that a step needs. If a newer key has the same name, the newer key is checked instead.
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
