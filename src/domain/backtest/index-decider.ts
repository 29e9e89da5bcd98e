import { isRuleDocument } from '../documents/index-document.js';
import { Refusal } from '../refusal.js';
import { createDecider } from '../rules/decide.js';
import type { DeciderFactory } from './compositions.js';

/**
 * The decider of a stored definition: by its rules, or by optimising the index it derives from.
 * @throws Refusal VALIDATION_FAILED when the market lacks a datapoint of the rules
 */
export const indexDecider: DeciderFactory = (document, composer) => {
  if (!isRuleDocument(document)) throw new Refusal('NOT_SUPPORTED', `The index ${document.id} is derived by optimisation, which this build cannot run.`);
  return createDecider({ document, market: composer.market(document.id), universe: (session) => composer.universe(document.id, session) });
};
