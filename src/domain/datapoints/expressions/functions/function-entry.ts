import type { Aggregate } from '../../field-request.js';
import type { Statistic } from '../../aggregates.js';
import type { ExpressionNode, FunctionNode } from '../tree.js';
import type { Unit, UnitClash } from '../units.js';

/** Kinds of operands: `numbers` is a list of constants, `index` the id of an index. */
export type OperandKind = 'number' | 'condition' | 'constant' | 'numbers' | 'index' | 'dividends';

export const OPTION_NAMES = ['by', 'over', 'window', 'lag', 'low', 'high'] as const;
export type OptionName = (typeof OPTION_NAMES)[number];

/** Evaluator of nodes for the requested securities. */
export interface Evaluator {
  readonly count: number;
  /** Returns values, NaN if missing, [count]; callers must not write to them. */
  numbers(node: ExpressionNode): Float64Array;
  /** Returns FALSE, TRUE or UNKNOWN, [count]. */
  truths(node: ExpressionNode): Uint8Array;
}

/** Facts about indices and dividends known at a decision, each [count]. */
export interface DecisionFacts {
  /** Returns, by security, 1 for a constituent of the index under decision, as it is before the decision. */
  constituents(): Float64Array;
  /** Returns, by security, 1 for a constituent of an index given by its id, otherwise 0. */
  membersOf(indexId: string): Float64Array;
  /** Returns the weight of each security in an index given by its id. A security outside that index has weight 0. */
  weightsIn(indexId: string): Float64Array;
  yearsOfGrowth(): Float64Array;
}

interface FunctionDescription {
  readonly name: string;
  /** Notation of a call for documentation. */
  readonly signature: string;
  readonly help: string;
  /** Complete expression as an example. */
  readonly example: string;
  /** Kinds of the operands by position. The last kind repeats up to `most` operands. */
  readonly operands: readonly OperandKind[];
  readonly least: number;
  readonly most: number;
  readonly options: readonly OptionName[];
  readonly required?: OptionName;
  unit(operands: readonly Unit[]): Unit | UnitClash;
  /** Returns a problem of the constants among the operands. Default: no check. */
  problem?(node: FunctionNode): string | undefined;
}

/** Function of the values of one security. */
export interface ElementwiseFunction extends FunctionDescription {
  readonly form: 'elementwise';
  values(node: FunctionNode, evaluator: Evaluator): Float64Array;
}

/** Function of the values of all securities of a set or of a group. */
export interface SectionFunction extends FunctionDescription {
  readonly form: 'cross_section';
  /** Computes the values of a set or group. @param values NaN if missing, [n] @returns [n] */
  across(values: Float64Array, node: FunctionNode): Float64Array;
}

/** Function of the values of one security over trailing sessions. */
export interface OverTimeFunction extends FunctionDescription {
  readonly form: 'over_time';
  readonly statistic: Statistic;
  /** Equivalent aggregate of a datapoint request. */
  readonly aggregate?: Exclude<Aggregate, 'last'>;
  /** True if a single value suffices. Otherwise half of the sessions in the window must have values. */
  readonly needsOne?: true;
}

/** Function of data known at the decision in addition to the columns of the market. */
export interface DecisionFunction extends FunctionDescription {
  readonly form: 'decision';
  values(node: FunctionNode, facts: DecisionFacts): Float64Array;
}

export type FunctionEntry = ElementwiseFunction | SectionFunction | OverTimeFunction | DecisionFunction;
