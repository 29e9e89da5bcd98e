import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { isDerivedDocument, isRuleDocument } from '../documents/index-document.js';
import { createDerivedDecider } from '../optimisation/derived/derived-decider.js';
import { createDecider, type DecisionSharing } from '../rules/decide.js';
import type { DeciderFactory } from '../books/compositions.js';
import { createIndexWeights } from '../books/index-weights.js';

/**
 * Creates deciders of stored definitions. A decider follows rules or, for a derived index, optimises against the
 * parent.
 * @param engine engine of matrix products.
 * @param sharing data that decisions share.
 */
export function createIndexDeciders(engine: Engine, sharing?: DecisionSharing): DeciderFactory {
  /**
   * Returns the decider of a definition.
   * @throws Refusal VALIDATION_FAILED if the market lacks a datapoint of the rules
   */
  return (document, composer) => {
    if (isDerivedDocument(document)) return createDerivedDecider({ document, composer, engine });
    if (!isRuleDocument(document)) throw new Error(`the index ${document.id} has neither a pipeline nor a derivation`);
    return createDecider({
      document,
      market: composer.market(document.id),
      universe: (session) => composer.universe(document.id, session),
      members: (session) => composer.members(document.id, session),
      indexWeights: createIndexWeights(composer, document.id),
      riskModel: (modelId) => composer.riskModel(modelId),
      engine,
      sharing,
    });
  };
}

/** Deciders that compute matrix products with plain loops. */
export const indexDecider: DeciderFactory = createIndexDeciders(referenceEngine);
