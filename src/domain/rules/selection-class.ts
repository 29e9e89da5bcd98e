import type { z } from 'zod';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { ReferenceValue } from '../market/market-data.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { Threshold } from './thresholds.js';

/** Input of a rule: the survivors of the rules before it, and the market as known at the decision. */
export interface SelectionScope {
  readonly cross: CrossSection;
  /** Survivors, columns ascending, [n]. */
  readonly columns: Int32Array;
  readonly identifiers: readonly string[];
  /** By column, 1 for a name of the previous composition; null at the first rebalance. */
  readonly incumbents: Uint8Array | null;
}

/** Decision of a rule, with its reasons. */
export interface Verdict {
  /** 1 for each survivor that is kept, in the order of the scope's columns, [n]. */
  readonly kept: Uint8Array;
  /** Why, for the survivor at a position of the scope's columns. Computed on demand. */
  because(position: number): Reason;
}

/** Reason of the decision about one name: its value against the threshold. */
export interface Reason {
  /** The condition in words. */
  readonly test: string;
  /** The value that was tested, null when it is missing or there is none. */
  readonly value: ReferenceValue;
  /** All that the name had to reach, the decisive one first: threshold, cutoff and distance are of that. */
  readonly thresholds: readonly Threshold[];
  /** Bound the value was held against. */
  readonly threshold: number | null;
  /** Position by the ranking of the rule, 1 the best; null without a ranking or a value. */
  readonly rank: number | null;
  /** Last rank that reaches the threshold. */
  readonly cutoff: number | null;
  /** Whether the name was kept because it was a constituent already. */
  readonly incumbent: boolean;
  /**
   * By how much the value of an excluded name would have to move to reach the threshold; 0 when kept, null off the
   * number line.
   */
  readonly distance: number | null;
  /** For expressions: each comparison with the value it met. */
  readonly comparisons?: readonly ComparisonReason[];
}

export interface ComparisonReason {
  readonly path: string;
  readonly test: string;
  readonly value: ReferenceValue;
  readonly outcome: boolean | null;
}

/** A rule with its parameters, ready to decide. */
export interface Selection {
  /** Datapoints it reads, at the paths of the parameters that name them. */
  readonly reads: readonly FieldUse[];
  /** Whether the previous composition bears on the decision. */
  readonly remembers: boolean;
  /** Whether it keeps the best of a ranking: what it leaves out may replace a constituent. */
  readonly ranks?: true;
  /** Full calendar years before the decision whose dividends it looks at; none where it does not say. */
  readonly dividendYears?: number;
  /** Effect of the rule as one English sentence, with every parameter. */
  readonly sentence: string;
  select(scope: SelectionScope): Verdict;
}

/** One selection class: everything the service knows of it. */
export interface SelectionClass extends CatalogueEntry {
  readonly category: 'selection';
  /** The rule of parameters that its schema has parsed. */
  bind(params: unknown): Selection;
}

interface SelectionEntry<S extends z.ZodObject> extends Omit<CatalogueEntry, 'category' | 'params'> {
  readonly params: S;
  behaviour(params: z.output<S>): Selection;
}

/** Declares a selection class; the parameters of its behaviour are typed by its schema. */
export function selectionClass<S extends z.ZodObject>({ behaviour, ...entry }: SelectionEntry<S>): SelectionClass {
  return { ...entry, category: 'selection', bind: (params) => behaviour(entry.params.parse(params)) };
}
