import type { Aggregate } from '../../field-request.js';
import type { Statistic } from '../../aggregates.js';
import type { ExpressionNode, FunctionNode } from '../tree.js';
import type { Unit, UnitClash } from '../units.js';

/** What a function takes at a place: `numbers` is a list of constants, `index` the id of an index. */
export type OperandKind = 'number' | 'condition' | 'constant' | 'numbers' | 'index' | 'dividends';

export const OPTION_NAMES = ['by', 'over', 'window', 'lag', 'low', 'high'] as const;
export type OptionName = (typeof OPTION_NAMES)[number];

/** Values of nodes on the securities that are asked about. */
export interface Evaluator {
  readonly count: number;
  /** NaN where missing, [count]; not to be written to. */
  numbers(node: ExpressionNode): Float64Array;
  /** FALSE, TRUE or UNKNOWN, [count]. */
  truths(node: ExpressionNode): Uint8Array;
}

/** Facts about indices and dividends as known at a decision, each [count]. */
export interface DecisionFacts {
  /** 1 for a constituent of the index that is decided, as it was before. */
  constituents(): Float64Array;
  /** 1 for a constituent of another index. */
  membersOf(indexId: string): Float64Array;
  /** Weight in another index, 0 outside of it. */
  weightsIn(indexId: string): Float64Array;
  yearsOfGrowth(): Float64Array;
}

interface Described {
  readonly name: string;
  /** How it is written, for people. */
  readonly signature: string;
  readonly help: string;
  /** A complete expression. */
  readonly example: string;
  /** By place; the last one repeats up to `most`. */
  readonly operands: readonly OperandKind[];
  readonly least: number;
  readonly most: number;
  readonly options: readonly OptionName[];
  readonly required?: OptionName;
  unit(operands: readonly Unit[]): Unit | UnitClash;
  /** What is wrong with constants among the operands; nothing unless given. */
  problem?(node: FunctionNode): string | undefined;
}

/** Of the values of one security. */
export interface Elementwise extends Described {
  readonly form: 'elementwise';
  values(node: FunctionNode, at: Evaluator): Float64Array;
}

/** Of the values of all securities of a set, or of a group of it. */
export interface CrossSectional extends Described {
  readonly form: 'cross_section';
  /** @param values NaN where missing, [n] @returns [n] */
  across(values: Float64Array, node: FunctionNode): Float64Array;
}

/** Of the values of one security over trailing sessions. */
export interface OverTime extends Described {
  readonly form: 'over_time';
  readonly statistic: Statistic;
  /** Aggregate of a datapoint that is the same. */
  readonly aggregate?: Exclude<Aggregate, 'last'>;
  /** Whether one value is enough; half of the window is needed otherwise. */
  readonly needsOne?: true;
}

/** Of what is known at the decision beside the columns of the market. */
export interface OfDecision extends Described {
  readonly form: 'decision';
  values(node: FunctionNode, facts: DecisionFacts): Float64Array;
}

export type FunctionEntry = Elementwise | CrossSectional | OverTime | OfDecision;
