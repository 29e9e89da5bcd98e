import { createParameterSpecs, type ParameterSpec } from '../catalogue/type-spec.js';
import { EventsSpec } from './events-spec.js';
import { DerivationPayload, IndexDocument, TreatmentSpec, UniverseSpec } from './index-document.js';
import { WeightingSpec } from './weighting-spec.js';
import { RebalanceSpec } from '../schedule/rebalance-spec.js';

/** Fields of the parts of a definition that no rule class describes. */
export interface DefinitionFields {
  readonly index: readonly ParameterSpec[];
  readonly universe: readonly ParameterSpec[];
  readonly rebalance: readonly ParameterSpec[];
  readonly reviews: readonly ParameterSpec[];
  readonly treatment: readonly ParameterSpec[];
  readonly weighting: readonly ParameterSpec[];
  readonly derivation: readonly ParameterSpec[];
  readonly events: readonly ParameterSpec[];
}

const IDENTITY = {
  id: true,
  name: true,
  calendar: true,
  base_date: true,
  base_value: true,
  base_market_value: true,
  currency: true,
  rounding: true,
  store_id: true,
  description: true,
  tags: true,
} as const;

/** Returns the fields of a definition other than its rule classes, for forms. */
export function createDefinitionFields(): DefinitionFields {
  return {
    index: createParameterSpecs(IndexDocument.pick(IDENTITY)),
    universe: createParameterSpecs(UniverseSpec),
    rebalance: createParameterSpecs(RebalanceSpec),
    reviews: createParameterSpecs(IndexDocument.pick({ reviews: true })),
    treatment: createParameterSpecs(TreatmentSpec),
    weighting: createParameterSpecs(WeightingSpec.omit({ type: true, params: true })),
    derivation: createParameterSpecs(DerivationPayload.pick({ relax: true })),
    events: createParameterSpecs(EventsSpec),
  };
}
