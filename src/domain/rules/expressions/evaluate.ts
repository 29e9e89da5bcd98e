import type { ReferenceValue } from '../../market/market-data.js';
import type { CrossSection } from '../../datapoints/cross-section.js';
import { requestText } from '../../datapoints/field-request.js';
import type { ComparisonReason } from '../selection-class.js';
import {
  comparisonsOf,
  operandsOf,
  valueType,
  type Comparison,
  type ComparisonNode,
  type ExpressionNode,
} from './expression.js';

/** The three truth values: Kleene's logic, in which a missing datapoint makes a comparison unknown. */
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;

/**
 * The truth of an expression for each name.
 * @param columns Survivors, ascending, [n]: transforms are taken across them.
 * @returns       [n] of FALSE, TRUE, UNKNOWN
 * @cost          one pass over the names for each node
 */
export function evaluate(node: ExpressionNode, cross: CrossSection, columns: Int32Array): Uint8Array {
  if (node.node === 'comparison') return compare(node, cross, columns);
  const operands = operandsOf(node).map((operand) => evaluate(operand, cross, columns));
  if (node.node === 'not') return operands[0]!.map((truth) => (truth === UNKNOWN ? UNKNOWN : 1 - truth));
  const decisive = node.node === 'all' ? FALSE : TRUE;
  const result = new Uint8Array(columns.length).fill(1 - decisive);
  for (const operand of operands) {
    for (let i = 0; i < result.length; i++) {
      if (result[i] === decisive || operand[i] === decisive) result[i] = decisive;
      else if (operand[i] === UNKNOWN) result[i] = UNKNOWN;
    }
  }
  return result;
}

function compare(node: ComparisonNode, cross: CrossSection, columns: Int32Array): Uint8Array {
  const { comparison, value } = node;
  if (cross.kindOf(node.field) === 'number') {
    const passes = numberTest(comparison, value);
    const result = new Uint8Array(columns.length);
    const values = cross.numbers(node.field, columns);
    for (let i = 0; i < result.length; i++)
      result[i] = Number.isNaN(values[i]!) ? UNKNOWN : passes(values[i]!) ? TRUE : FALSE;
    return result;
  }
  const passes = sameTest(comparison, value);
  return Uint8Array.from(cross.values(node.field, columns), (found) =>
    found === null ? UNKNOWN : passes(found) ? TRUE : FALSE,
  );
}

/** Values were checked against their comparison when the expression was parsed. */
function numberTest(comparison: Comparison, value: unknown): (found: number) => boolean {
  const bound = value as number;
  switch (comparison) {
    case 'gt':
      return (found) => found > bound;
    case 'ge':
      return (found) => found >= bound;
    case 'lt':
      return (found) => found < bound;
    case 'le':
      return (found) => found <= bound;
    case 'between': {
      const [low, high] = value as [number, number];
      return (found) => found >= low && found <= high;
    }
    case 'eq':
    case 'ne':
    case 'in':
      return sameTest(comparison, value) as (found: number) => boolean;
  }
}

function sameTest(comparison: Comparison, value: unknown): (found: ReferenceValue) => boolean {
  if (comparison === 'in') {
    const set = new Set(value as readonly unknown[]);
    return (found) => set.has(found);
  }
  return comparison === 'ne' ? (found) => found !== value : (found) => found === value;
}

/** Each comparison of an expression with the value one name met it with. */
export function comparisonReasons(
  root: ExpressionNode,
  cross: CrossSection,
  { columns, position }: { readonly columns: Int32Array; readonly position: number },
): ComparisonReason[] {
  return comparisonsOf(root).map(({ node, path }) => {
    const truth = compare(node, cross, columns)[position]!;
    return {
      path,
      test: comparisonText(node),
      value: cross.values(node.field, columns)[position]!,
      outcome: truth === UNKNOWN ? null : truth === TRUE,
    };
  });
}

/** Whether the datapoint's kind can meet the comparison at all. */
export function kindFits(node: ComparisonNode, kind: 'number' | 'string' | 'boolean'): boolean {
  const needsNumber = ['gt', 'ge', 'lt', 'le', 'between'].includes(node.comparison);
  return needsNumber ? kind === 'number' : valueType(node) === kind;
}

const WORDS: Readonly<Record<Comparison, string>> = {
  gt: 'above',
  ge: 'at least',
  lt: 'below',
  le: 'at most',
  eq: 'equal to',
  ne: 'different from',
  in: 'one of',
  between: 'between',
};

export function comparisonText({ field, comparison, value }: ComparisonNode): string {
  const name = requestText(field);
  if (comparison === 'between') {
    const [low, high] = value as [number, number];
    return `${name} between ${low} and ${high}`;
  }
  return `${name} ${WORDS[comparison]} ${Array.isArray(value) ? value.join(', ') : String(value)}`;
}

/** An expression in words, with brackets where operands nest. */
export function expressionText(node: ExpressionNode): string {
  if (node.node === 'comparison') return comparisonText(node);
  if (node.node === 'not') return `not (${expressionText(node.operand)})`;
  if (node.operands.length === 0) return node.node === 'all' ? 'always' : 'never';
  const word = node.node === 'all' ? ' and ' : ' or ';
  return node.operands
    .map((operand) => (operand.node === 'comparison' ? comparisonText(operand) : `(${expressionText(operand)})`))
    .join(word);
}
