import { z } from 'zod';
import type { FindingCode } from '../../refusals/findings.js';
import { LIMITS } from '../../refusals/limits.js';
import { FieldNode } from '../../datapoints/field-request.js';

export const COMPARISONS = ['gt', 'ge', 'lt', 'le', 'eq', 'ne', 'in', 'between'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** A condition on one name: a tree of `all`, `any` and `not` over comparisons of a datapoint with a value. */
export type ExpressionNode =
  | { readonly node: 'all'; readonly operands: readonly ExpressionNode[] }
  | { readonly node: 'any'; readonly operands: readonly ExpressionNode[] }
  | { readonly node: 'not'; readonly operand: ExpressionNode }
  | ComparisonNode;

/** Operand of a comparison; its type is checked separately. */
export const ComparisonValue = z
  .unknown()
  .refine((value) => value !== undefined, { params: { finding: 'REQUIRED' }, error: 'is required' })
  .meta({
    label: 'Value',
    help: 'A number for gt, ge, lt, le; a string, number or boolean for eq, ne; a non-empty array for in; [low, high] for between.',
  });

export const ComparisonNode = z
  .strictObject({
    node: z.literal('comparison'),
    field: FieldNode,
    comparison: z.enum(COMPARISONS),
    value: ComparisonValue,
  })
  .superRefine((node, context) => {
    const problem = node.value === undefined ? undefined : valueProblem(node.comparison, node.value);
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
export type ComparisonNode = z.output<typeof ComparisonNode>;

const AllNode = z
  .strictObject({
    node: z.literal('all'),
    get operands() {
      return z.array(Node);
    },
  })
  .meta({ id: 'AllNode', description: 'Every operand must pass.' });

const AnyNode = z
  .strictObject({
    node: z.literal('any'),
    get operands() {
      return z.array(Node);
    },
  })
  .meta({ id: 'AnyNode', description: 'At least one operand must pass.' });

const NotNode = z
  .strictObject({
    node: z.literal('not'),
    get operand() {
      return Node;
    },
  })
  .meta({ id: 'NotNode', description: 'The operand must fail.' });

const Node: z.ZodType<ExpressionNode> = z
  .discriminatedUnion('node', [AllNode, AnyNode, NotNode, ComparisonNode])
  .meta({ id: 'ExpressionNode', description: 'A condition on the datapoints of one name.' });

/** A whole expression: a node whose tree keeps the limits of depth and size. */
export const Expression: z.ZodType<ExpressionNode> = Node.superRefine((root, context) => {
  const size = measure(root);
  const limits = [
    { what: 'levels deep', found: size.depth, limit: LIMITS.MAX_EXPRESSION_DEPTH },
    { what: 'nodes large', found: size.nodes, limit: LIMITS.MAX_EXPRESSION_NODES },
  ];
  for (const { what, found, limit } of limits) {
    if (found <= limit) continue;
    context.addIssue({
      code: 'custom',
      path: [],
      input: undefined,
      params: { finding: 'OUT_OF_RANGE' },
      message: `is ${found} ${what}; at most ${limit} are accepted`,
    });
  }
});

/** Levels and count of the nodes `all`, `any`, `not` and `comparison`. */
export function measure(node: ExpressionNode): { readonly depth: number; readonly nodes: number } {
  const below = operandsOf(node).map(measure);
  return {
    depth: 1 + below.reduce((deepest, { depth }) => Math.max(deepest, depth), 0),
    nodes: 1 + below.reduce((total, { nodes }) => total + nodes, 0),
  };
}

export function operandsOf(node: ExpressionNode): readonly ExpressionNode[] {
  if (node.node === 'comparison') return [];
  return node.node === 'not' ? [node.operand] : node.operands;
}

/** The comparisons of a tree with their paths below the root: `operands[0].operand`. */
export function comparisonsOf(
  node: ExpressionNode,
  path = '',
): { readonly node: ComparisonNode; readonly path: string }[] {
  if (node.node === 'comparison') return [{ node, path }];
  const join = (part: string) => (path === '' ? part : `${path}.${part}`);
  if (node.node === 'not') return comparisonsOf(node.operand, join('operand'));
  return node.operands.flatMap((operand, i) => comparisonsOf(operand, join(`operands[${i}]`)));
}

type Scalar = string | number | boolean;
const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value);

export interface ValueProblem {
  readonly code: FindingCode;
  readonly message: string;
}

/** What is wrong with the value of a comparison by itself, whatever the datapoint. */
export function valueProblem(comparison: Comparison, value: unknown): ValueProblem | undefined {
  const mismatch = (message: string): ValueProblem => ({ code: 'VALUE_TYPE_MISMATCH', message });
  switch (comparison) {
    case 'gt':
    case 'ge':
    case 'lt':
    case 'le':
      return typeof value === 'number' ? undefined : mismatch(`must be a number for ${comparison}`);
    case 'eq':
    case 'ne':
      return isScalar(value) ? undefined : mismatch(`must be a string, a number or a boolean for ${comparison}`);
    case 'in': {
      if (!Array.isArray(value)) return mismatch('must be an array for in');
      if (value.length === 0) return { code: 'OUT_OF_RANGE', message: 'has 0 entries; at least 1 is needed for in' };
      const sameType = value.every((item) => isScalar(item) && typeof item === typeof value[0]);
      return sameType ? undefined : mismatch('must hold strings, numbers or booleans of one type for in');
    }
    case 'between': {
      if (!Array.isArray(value) || value.length !== 2 || !value.every((item) => typeof item === 'number'))
        return mismatch('must be [low, high], two numbers, for between');
      const [low, high] = value as [number, number];
      return low <= high
        ? undefined
        : { code: 'EMPTY_RANGE', message: `has the low end ${low} above the high end ${high}` };
    }
  }
}

/** Type of the value (of its entries) that the comparison will meet: what the datapoint must be. */
export function valueType(node: ComparisonNode): 'number' | 'string' | 'boolean' {
  const sample: unknown = Array.isArray(node.value) ? node.value[0] : node.value;
  return typeof sample === 'number' ? 'number' : typeof sample === 'string' ? 'string' : 'boolean';
}
