import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import type { FindingCode } from '../../refusals/findings.js';
import { LIMITS } from '../../refusals/limits.js';
import { FieldNode, LAG_SESSIONS_MAX } from '../field-request.js';
import { checkTree } from './check.js';
import {
  COMPARISONS,
  OPERATORS,
  isExpressionNode,
  listChildren,
  type Comparison,
  type ExpressionNode,
} from './tree.js';

const textNode = z
  .string()
  .max(LIMITS.MAX_EXPRESSION_LENGTH)
  .optional()
  .meta({ description: 'Canonical text of the tree, at its root; ignored in requests.' });

const scalarNode = z.union([z.number(), z.string().max(200), z.boolean()]);

/** Right-hand side of a comparison. `checkValue` checks its type. */
export const ComparisonValue = z
  .unknown()
  .refine((value) => value !== undefined, { params: { finding: 'REQUIRED' }, error: 'is required' })
  .meta({
    label: 'Value',
    help: 'For gt, ge, lt, le: a number or an expression. For eq, ne: a string, number or boolean. For in: a non-empty array. For between: [low, high].',
  });

const ComparisonShape = defineObject(() => ({
  node: z.literal('comparison'),
  get field() {
    return Node;
  },
  comparison: z.enum(COMPARISONS),
  value: ComparisonValue,
  text: textNode,
}))
  .superRefine((node, context) => {
    const problem = node.value === undefined ? undefined : checkValue(node.comparison, node.value);
    if (problem === undefined) return;
    context.addIssue({
      code: 'custom',
      path: ['value'],
      input: node.value,
      params: { finding: problem.code },
      message: problem.message,
    });
  })
  .meta({ id: 'ComparisonNode' });

const AllNode = defineObject(() => ({
  node: z.literal('all'),
  get operands() {
    return z.array(Node);
  },
  text: textNode,
})).meta({ id: 'AllNode', description: 'True if every operand is true.' });

const AnyNode = defineObject(() => ({
  node: z.literal('any'),
  get operands() {
    return z.array(Node);
  },
  text: textNode,
})).meta({ id: 'AnyNode', description: 'True if at least one operand is true.' });

const NotNode = defineObject(() => ({
  node: z.literal('not'),
  get operand() {
    return Node;
  },
  text: textNode,
})).meta({ id: 'NotNode', description: 'True if the operand is false.' });

const ValueShape = defineObject(() => ({
  node: z.literal('value'),
  value: z
    .union([scalarNode, z.array(scalarNode).min(1).max(1000)])
    .meta({ description: 'Constant, or a list of constants such as the edges of ladder.' }),
  text: textNode,
})).meta({ id: 'ValueNode', description: 'A constant.' });

const ArithmeticShape = defineObject(() => ({
  node: z.literal('arithmetic'),
  operator: z.enum(OPERATORS).meta({ description: 'Operator between the operands. ^ is a power.' }),
  get operands() {
    return z.array(Node).min(1).max(64);
  },
  text: textNode,
})).meta({ id: 'ArithmeticNode', description: 'Operands from left to right; a single operand of - is negated.' });

const lagSessions = z.int().min(0).max(LAG_SESSIONS_MAX);

const FunctionShape = defineObject(() => ({
  node: z.literal('function'),
  name: z.string().min(1).max(64).meta({ description: 'Name of a function: see `functions` of /indices/rule-types.' }),
  get operands() {
    return z.array(Node).max(64);
  },
  by: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'Column whose values define the groups in which the function is applied.' }),
  over: z.enum(['selection', 'universe']).optional().meta({
    description: 'Securities to which the function applies: the remaining securities (default), or the whole universe.',
  }),
  window: lagSessions.min(1).optional().meta({ description: 'Trailing sessions.' }),
  lag: lagSessions.optional().meta({ description: 'Number of sessions before the decision date.' }),
  low: z.number().min(0).max(1).optional().meta({ description: 'Lower percentile, a fraction.' }),
  high: z.number().min(0).max(1).optional().meta({ description: 'Upper percentile, a fraction.' }),
  text: textNode,
})).meta({ id: 'FunctionNode', description: 'Function of the catalogue with its operands.' });

const Node: z.ZodType<ExpressionNode> = z
  .discriminatedUnion('node', [
    AllNode,
    AnyNode,
    NotNode,
    ComparisonShape,
    FieldNode,
    ValueShape,
    ArithmeticShape,
    FunctionShape,
  ])
  .meta({ id: 'ExpressionNode', description: 'Expression of the datapoints of one security.' });

/** Returns true if every node of a value has exactly the members of its kind. */
export const isShaped = (value: unknown): value is ExpressionNode => Node.safeParse(value).success;

/**
 * Returns a refinement that adds the problems of the whole tree to those of single nodes. It does not check units; they
 * are checked only when a request is received. The units of more columns may become known later, and stored expressions
 * must remain valid.
 */
const toTree = (expected: 'number' | 'condition') => (root: ExpressionNode, context: z.RefinementCtx) => {
  const problems = checkTree(root, expected).problems.filter(({ code }) => code !== 'UNIT_MISMATCH');
  for (const { path, code, message } of [...checkSize(root), ...problems])
    context.addIssue({ code: 'custom', path: [...path], input: undefined, params: { finding: code }, message });
};

/** Condition with a tree within the limits of depth and size. */
export const Condition: z.ZodType<ExpressionNode> = Node.superRefine(toTree('condition'));

/** Numeric expression with a tree within the limits of depth and size. */
export const NumberExpression: z.ZodType<ExpressionNode> = Node.superRefine(toTree('number'));

interface SizeProblem {
  readonly path: readonly string[];
  readonly code: FindingCode;
  readonly message: string;
}

/** Returns a problem for each limit of depth or size that a tree exceeds. */
export function checkSize(root: ExpressionNode): SizeProblem[] {
  const size = measureNode(root);
  const limits = [
    { what: 'levels deep', found: size.depth, limit: LIMITS.MAX_EXPRESSION_DEPTH },
    { what: 'nodes large', found: size.nodes, limit: LIMITS.MAX_EXPRESSION_NODES },
    { what: 'fields and constants long', found: size.leaves, limit: LIMITS.MAX_EXPRESSION_LEAVES },
  ];
  return limits
    .filter(({ found, limit }) => found > limit)
    .map(({ what, found, limit }) => ({
      path: [],
      code: 'OUT_OF_RANGE' as const,
      message: `is ${found} ${what}; the maximum is ${limit}`,
    }));
}

export interface Size {
  readonly depth: number;
  readonly nodes: number;
  /** Number of fields and constants. They count neither as levels nor as nodes. */
  readonly leaves: number;
}

/** Counts the levels, operators and leaves of a tree. */
export function measureNode(node: ExpressionNode): Size {
  if (node.node === 'field' || node.node === 'value') return { depth: 0, nodes: 0, leaves: 1 };
  let [depth, nodes, leaves] = [0, 1, 0];
  for (const { child } of listChildren(node)) {
    const childSize = measureNode(child);
    depth = Math.max(depth, childSize.depth);
    nodes += childSize.nodes;
    leaves += childSize.leaves;
  }
  return { depth: 1 + depth, nodes, leaves };
}

type Scalar = string | number | boolean;
const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value);

export interface ValueProblem {
  readonly code: FindingCode;
  readonly message: string;
}

/**
 * Returns a problem of a comparison value, as far as it does not depend on the datapoint. Returns undefined if there is
 * none.
 */
export function checkValue(comparison: Comparison, value: unknown): ValueProblem | undefined {
  const createMismatch = (message: string): ValueProblem => ({ code: 'VALUE_TYPE_MISMATCH', message });
  if (isExpressionNode(value)) {
    if (comparison === 'in' || comparison === 'between') return createMismatch(`must be an array for ${comparison}`);
    return isShaped(value) ? undefined : createMismatch('is not an expression: one of its nodes has an invalid form');
  }
  switch (comparison) {
    case 'gt':
    case 'ge':
    case 'lt':
    case 'le':
      return typeof value === 'number' ? undefined : createMismatch(`must be a number for ${comparison}`);
    case 'eq':
    case 'ne':
      return isScalar(value) ? undefined : createMismatch(`must be a string, a number or a boolean for ${comparison}`);
    case 'in': {
      if (!Array.isArray(value)) return createMismatch('must be an array for in');
      if (value.length === 0) return { code: 'OUT_OF_RANGE', message: 'has 0 entries; in needs at least 1' };
      const hasSameType = value.every((item) => isScalar(item) && typeof item === typeof value[0]);
      return hasSameType ? undefined : createMismatch('must contain strings, numbers or booleans of one type for in');
    }
    case 'between': {
      if (!Array.isArray(value) || value.length !== 2 || !value.every((item) => typeof item === 'number'))
        return createMismatch('must be [low, high], two numbers, for between');
      const [low, high] = value as [number, number];
      return low <= high
        ? undefined
        : { code: 'EMPTY_RANGE', message: `has the lower end ${low} above the upper end ${high}` };
    }
  }
}
