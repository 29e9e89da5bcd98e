import type { z } from 'zod';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { ReferenceValue } from '../market/market-data.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { Threshold } from './thresholds.js';

/** Input of a rule: the securities kept by earlier rules, and the market as known at the decision. */
export interface SelectionScope {
  readonly cross: CrossSection;
  /** Remaining securities, columns ascending, [n]. */
  readonly columns: Int32Array;
  readonly identifiers: readonly string[];
  /** 1 for a security in the previous composition, by column; null at the first rebalance. */
  readonly incumbents: Uint8Array | null;
}

/** Decision of a rule about all securities, with reasons. */
export interface Verdict {
  /** 1 for each security that is kept, in the order of the columns in the scope, [n]. */
  readonly kept: Uint8Array;
  /**
   * Returns the reason for the security at a position in the columns of the scope. It is computed when the function is
   * called.
   */
  because(position: number): Reason;
}

/** Reason for the decision about one security: its value and the thresholds. */
export interface Reason {
  /** Condition in words. */
  readonly test: string;
  /** Tested value; null if it is missing, or if the rule tests no value. */
  readonly value: ReferenceValue;
  /**
   * All thresholds of the security, the decisive one first. `threshold`, `cutoff` and `distance` are those of the
   * decisive one.
   */
  readonly thresholds: readonly Threshold[];
  /** Bound with which the value was compared. */
  readonly threshold: number | null;
  /** Position in the ranking of the rule, 1 for the best; null without a ranking or a value. */
  readonly rank: number | null;
  /** Last rank that satisfies the threshold. */
  readonly cutoff: number | null;
  /** True if the security was kept because it is already a constituent. */
  readonly incumbent: boolean;
  /**
   * Change of the value with which an excluded security would satisfy the threshold. 0 for a kept security, null for
   * non-numeric values.
   */
  readonly distance: number | null;
  /** Comparisons of an expression, each with its value. */
  readonly comparisons?: readonly ComparisonReason[];
}

export interface ComparisonReason {
  readonly path: string;
  readonly test: string;
  readonly value: ReferenceValue;
  readonly outcome: boolean | null;
}

/** Rule with its parameters, which can decide. */
export interface Selection {
  /** Datapoints that the rule reads, with the paths of their parameters. */
  readonly reads: readonly FieldUse[];
  /** True if the previous composition affects the decision. */
  readonly remembers: boolean;
  /** True if the rule keeps the best securities of a ranking. Others may then replace a constituent. */
  readonly ranks?: true;
  /** Number of full calendar years before the decision whose dividends the rule reads. Default: none. */
  readonly dividendYears?: number;
  /** Effect of the rule as one English sentence, with every parameter. */
  readonly sentence: string;
  select(scope: SelectionScope): Verdict;
}

/** Selection class, with all its operations. */
export interface SelectionClass extends CatalogueEntry {
  readonly category: 'selection';
  /** Binds parameters that the schema of the class has parsed. */
  bind(params: unknown): Selection;
}

interface SelectionEntry<S extends z.ZodObject> extends Omit<CatalogueEntry, 'category' | 'params'> {
  readonly params: S;
  behaviour(params: z.output<S>): Selection;
}

/** Declares a selection class; its schema determines the parameter types of `behaviour`. */
export function defineSelectionClass<S extends z.ZodObject>({
  behaviour,
  ...entry
}: SelectionEntry<S>): SelectionClass {
  return { ...entry, category: 'selection', bind: (params) => behaviour(entry.params.parse(params)) };
}
