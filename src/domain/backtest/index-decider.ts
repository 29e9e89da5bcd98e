import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { isRuleDocument } from '../documents/index-document.js';
import { Refusal } from '../refusal.js';
import { createDecider } from '../rules/decide.js';
import type { DeciderFactory } from './compositions.js';

/**
 * Deciders of stored definitions: by their rules, or by optimising the index they derive from.
 * @param engine What multiplies matrices.
 */
export function indexDeciders(engine: Engine): DeciderFactory {
  /** @throws Refusal VALIDATION_FAILED when the market lacks a datapoint of the rules */
  return (document, composer) => {
    if (!isRuleDocument(document)) throw new Refusal('NOT_SUPPORTED', `The index ${document.id} is derived by optimisation, which this build cannot run.`);
    return createDecider({ document, market: composer.market(document.id), universe: (session) => composer.universe(document.id, session), engine });
  };
}

/** Deciders on plain loops. */
export const indexDecider: DeciderFactory = indexDeciders(referenceEngine);
