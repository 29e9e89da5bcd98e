import type { z } from 'zod';
import type { Engine } from '#kernels/engines/engine.js';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { Finding } from '../refusals/findings.js';
import type { ErrorCode } from '../refusals/refusal.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import type { StoredModels } from '../risk/stored-model.js';
import type { FieldUse } from '../datapoints/field-use.js';

/** Input of a weighting: the selected securities. */
export interface WeightingScope {
  readonly cross: CrossSection;
  /** Selected securities, columns ascending, [n]. */
  readonly columns: Int32Array;
  readonly identifiers: readonly string[];
  /** Engine for matrix products. */
  readonly engine: Engine;
  /** Stored risk models by id. */
  readonly riskModel: StoredModels;
}

/** Raw weights before normalisation and capping, or the reason why there are none. */
export type RawWeights = WeighedSecurities | WeightingRefusal;

export interface WeighedSecurities {
  readonly kind: 'weighed';
  /** Raw weights, not negative, on any scale; 0 for a security that is not held, [n]. */
  readonly values: Float64Array;
  /** Fixed numbers of shares whose values are the raw weights, [n]; absent if weights are decided. */
  readonly shares?: Float64Array;
  /**
   * Returns the parts of the raw weight of a security, in the order of the formula. With them the weight can be
   * recomputed by hand.
   */
  parts?(position: number): Readonly<Record<string, number | string | null>>;
  /** Warnings, with the path of the parameter; absent without warnings. */
  readonly warnings?: readonly (Pick<Finding, 'code' | 'message'> & { readonly path: string })[];
}

export interface WeightingRefusal {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  readonly finding: Pick<Finding, 'code' | 'message'> & { readonly path?: string };
}

/** Weighting with its parameters, which can weight securities. */
export interface Weighting {
  readonly reads: readonly FieldUse[];
  /** Effect of the rule as one English sentence, with every parameter. */
  readonly sentence: string;
  /** Formula of a raw weight in terms of datapoints. */
  readonly formula: string;
  weigh(scope: WeightingScope): RawWeights;
}

/** Weighting class, with all its operations. */
export interface WeightingClass extends CatalogueEntry {
  readonly category: 'weighting';
  /** Binds parameters that the schema of the class has parsed. */
  bind(params: unknown): Weighting;
}

interface WeightingEntry<S extends z.ZodObject> extends Omit<CatalogueEntry, 'category' | 'params'> {
  readonly params: S;
  behaviour(params: z.output<S>): Weighting;
}

/** Declares a weighting class; its schema determines the parameter types of `behaviour`. */
export function defineWeightingClass<S extends z.ZodObject>({
  behaviour,
  ...entry
}: WeightingEntry<S>): WeightingClass {
  return { ...entry, category: 'weighting', bind: (params) => behaviour(entry.params.parse(params)) };
}

/** Returns raw weights. Only securities with finite positive values are held. */
export function createWeights(values: Float64Array, parts?: WeighedSecurities['parts']): WeighedSecurities {
  let areHeld = true;
  for (let i = 0; i < values.length; i++) areHeld &&= isHeld(values[i]!);
  const heldValues = areHeld ? values : values.map((value) => (isHeld(value) ? value : 0));
  return { kind: 'weighed', values: heldValues, ...(parts === undefined ? {} : { parts }) };
}

function isHeld(value: number): boolean {
  return value > 0 && value < Infinity;
}
