import { z } from 'zod';
import { createParameterSpecs, type ParameterSpec } from '../catalogue/type-spec.js';
import type { OverlayType } from './overlay-type.js';
import { blend } from './types/blend.js';
import { currency } from './types/currency.js';
import { currencyHedged } from './types/currency-hedged.js';
import { decrement } from './types/decrement.js';
import { excessReturn } from './types/excess-return.js';
import { fee } from './types/fee.js';
import { leverage } from './types/leverage.js';
import { quanto } from './types/quanto.js';
import { riskControl } from './types/risk-control.js';

/** All overlay types, in the order of forms. */
const OVERLAY_ENTRIES = [
  currency,
  currencyHedged,
  quanto,
  riskControl,
  leverage,
  decrement,
  excessReturn,
  blend,
  fee,
] as const;

export const OVERLAY_TYPES: readonly OverlayType[] = OVERLAY_ENTRIES as unknown as readonly OverlayType[]; // An entry is called only with specifications of its type.

/** Specification of an overlay, by its type. */
export const OverlaySpec = z
  .discriminatedUnion('type', [
    currency.schema.meta({ id: 'CurrencyOverlay', description: currency.help }),
    currencyHedged.schema.meta({ id: 'CurrencyHedgedOverlay', description: currencyHedged.help }),
    quanto.schema.meta({ id: 'QuantoOverlay', description: quanto.help }),
    riskControl.schema.meta({ id: 'RiskControlOverlay', description: riskControl.help }),
    leverage.schema.meta({ id: 'LeverageOverlay', description: leverage.help }),
    decrement.schema.meta({ id: 'DecrementOverlay', description: decrement.help }),
    excessReturn.schema.meta({ id: 'ExcessReturnOverlay', description: excessReturn.help }),
    blend.schema.meta({ id: 'BlendOverlay', description: blend.help }),
    fee.schema.meta({ id: 'FeeOverlay', description: fee.help }),
  ])
  .meta({ id: 'OverlaySpec' });
export type OverlaySpec = z.infer<typeof OverlaySpec>;

const OVERLAYS_BY_TYPE = new Map(OVERLAY_TYPES.map((entry) => [entry.type, entry]));

/** Returns the catalogue entry of an overlay. */
export function findOverlayType({ type }: OverlaySpec): OverlayType {
  return OVERLAYS_BY_TYPE.get(type)!; // the catalogue has every type of the schema
}

/** Returns the weights of a blend. Returns undefined for other overlays. */
export function listBlendParts(
  spec: OverlaySpec,
): readonly { readonly index_id: string; readonly weight: number }[] | undefined {
  return spec.type === 'blend' ? spec.parts : undefined;
}

/** Catalogue entry as served by the API. */
export interface OverlayTypeSpec extends Pick<
  OverlayType,
  'type' | 'label' | 'help' | 'formula' | 'reference' | 'example'
> {
  readonly parameters: readonly ParameterSpec[];
}

/** Returns the catalogue as served by the API. */
export const listOverlaySpecs = (): OverlayTypeSpec[] =>
  OVERLAY_TYPES.map(({ type, label, help, formula, reference, schema, example }) => ({
    type,
    label,
    help,
    formula,
    reference,
    parameters: createParameterSpecs(schema).filter(({ name }) => name !== 'type'),
    example,
  }));
