import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import type { Finding, FindingCode } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { defineObject } from '../base/schema.js';
import type { MarketData } from '../market/market-data.js';
import { type CharacterSpan, parseExpression, SyntaxFault } from './expression-text.js';
import {
  type ArithmeticNode,
  type Comparison,
  type ComparisonNode,
  COMPARISONS,
  type DatapointExpression,
  DIMENSIONLESS,
  type ExpressionNode,
  type FieldLeaf,
  findCommonUnit,
  findFieldUnit,
  formatUnit,
  type FunctionNode,
  INDEX_FUNCTIONS,
  isClash,
  isExpressionNode,
  isWithoutColumn,
  listChildren,
  multiplyUnits,
  type NodePath,
  OPERATORS,
  PLUGIN_FUNCTION,
  raiseUnit,
  toFieldRequest,
  toNode,
  type Unit,
  type UnitClash,
} from './expression-tree.js';
import {
  createLatestRequest,
  DERIVED_NAMES,
  FieldNode,
  type FieldRequest,
  isRelative,
  LAG_SESSIONS_MAX,
} from './fields.js';
import { findFunction, FUNCTION_NAMES, type FunctionEntry, type OperandKind, readIndexName } from './functions.js';

export type Definitions = ReadonlyMap<string, ExpressionNode>;

export interface ReadDatapoint {
  readonly field: FieldRequest;
  /** Leaf of the expression that refers to the datapoint. For the datapoint of `by=`, this is the function. */
  readonly leaf: FieldLeaf | FunctionNode;
  /** Required type of the values. Groups and comparisons with a constant accept `any`. */
  readonly as: 'number' | 'any';
  readonly comparison: ComparisonNode | null;
  /** Plug-in input that reads the datapoint; null outside plug-ins. */
  readonly input: CheckedPluginInput | null;
}

export interface CheckedPluginInput {
  readonly plugin: string;
  readonly name: string;
}

/** Lag and number of sessions with which a node is read. */
interface ReadContext {
  readonly lag: number;
  readonly window: number | null;
  /** Comparison with a constant of which this node is the left-hand side. */
  readonly comparison: ComparisonNode | null;
  readonly groups: boolean;
  readonly input: CheckedPluginInput | null;
}

/** Returns every datapoint of the market that an expression reads, with its lag and window. */
export function listExpressionReads(expression: DatapointExpression, definitions: Definitions): ReadDatapoint[] {
  const reads: ReadDatapoint[] = [];
  const visitedReads = new Set<string>();
  let steps = 0;
  const visit = (node: ExpressionNode, readContext: ReadContext, from: FieldLeaf | FunctionNode | null): void => {
    if (node.node === 'field') {
      visitField(node, readContext, from ?? node);
      return;
    }
    if (node.node === 'function' && isWithoutColumn(node)) return;
    if (node.node === 'function' && node.by !== undefined)
      visitField(
        { node: 'field', name: node.by },
        { ...readContext, lag: 0, window: null, comparison: null, groups: true },
        from ?? node,
      );
    const childContext = findReadInSubtree(node, readContext);
    listChildren(node).forEach(({ child }, i) =>
      visit(child, { ...childContext, input: findInput(node, i) ?? childContext.input }, from),
    );
  };
  const visitField = (leaf: FieldLeaf, readContext: ReadContext, from: FieldLeaf | FunctionNode): void => {
    if (++steps > LIMITS.MAX_EXPRESSION_READS) return;
    const fieldRequest = toFieldRequest(leaf);
    const definition = fieldRequest.dataset === null ? definitions.get(fieldRequest.name) : undefined;
    const lag = fieldRequest.lag + readContext.lag;
    const window = fieldRequest.aggregate === 'last' ? readContext.window : fieldRequest.window;
    const isPlain = fieldRequest.transform === 'none' && window === null;
    const comparison = isPlain ? readContext.comparison : null;
    if (definition === undefined) {
      const overSessions = window === null ? { window: fieldRequest.window } : createWindowRequest(window);
      const as = comparison !== null || (isPlain && readContext.groups) ? 'any' : 'number';
      reads.push({
        field: { ...fieldRequest, ...overSessions, lag },
        leaf: from,
        as,
        comparison,
        input: readContext.input,
      });
      return;
    }
    const definitionContext = {
      lag,
      window,
      comparison,
      groups: isPlain && readContext.groups,
      input: readContext.input,
    };
    const key = `${fieldRequest.name} ${lag} ${window} ${comparison !== null} ${definitionContext.groups}`;
    if (visitedReads.has(key)) return;
    visitedReads.add(key);
    visit(definition, definitionContext, from);
  };
  visit(toNode(expression), { lag: 0, window: null, comparison: null, groups: false, input: null }, null);
  return reads;
}

/**
 * Returns the first datapoint that reads more datapoints than the maximum. A definition counts with everything that it
 * reads at each place that refers to it. Returns undefined if there is none.
 * @cost one pass over the definitions
 * @param definitions without a circular definition
 */
export function findTooLarge(definitions: Definitions): string | undefined {
  const sizes = new Map<string, number>();
  const measure = (name: string): number => {
    const definition = definitions.get(name);
    if (definition === undefined) return 1;
    const size = sizes.get(name) ?? listReadNames(definition).reduce((sum, next) => sum + measure(next), 0);
    sizes.set(name, size);
    return size;
  };
  for (const name of definitions.keys()) if (measure(name) > LIMITS.MAX_EXPRESSION_READS) return name;
  return undefined;
}

const createWindowRequest = (window: number): Pick<FieldRequest, 'aggregate' | 'window'> => ({
  aggregate: 'count',
  window,
});

/** Returns the plug-in input of an operand. Returns undefined if the node is not a plug-in. */
function findInput(node: ExpressionNode, operand: number): CheckedPluginInput | undefined {
  const call = node.node === 'function' ? node.plugin : undefined;
  const name = call?.program?.inputs[operand]?.name;
  return call === undefined || name === undefined ? undefined : { plugin: call.id, name };
}

function findReadInSubtree(node: ExpressionNode, { lag, window, input }: ReadContext): ReadContext {
  const comparison = node.node === 'comparison' && !isExpressionNode(node.value) ? node : null;
  // The values of a column of dates are texts.
  const groups = node.node === 'function' && findFunction(node)?.operands[0] === 'date';
  const childContext = { lag, window, comparison, groups, input };
  return node.node === 'function'
    ? { ...childContext, lag: lag + (node.lag ?? 0), window: node.window ?? window }
    : childContext;
}

export function listCalls(expression: DatapointExpression, definitions: Definitions): FunctionNode[] {
  const calls: FunctionNode[] = [];
  const openNames = new Set<string>();
  const visit = (node: ExpressionNode): void => {
    if (node.node === 'function') calls.push(node);
    const definition = node.node === 'field' ? definitions.get(node.name) : undefined;
    if (node.node === 'field' && definition !== undefined && !openNames.has(node.name)) {
      openNames.add(node.name);
      visit(definition);
    }
    for (const { child } of listChildren(node)) visit(child);
  };
  visit(toNode(expression));
  return calls;
}

export function listIndices(expression: DatapointExpression, definitions: Definitions): string[] {
  const requests = listCalls(expression, definitions).filter(({ name }) => INDEX_FUNCTIONS.has(name));
  return [...new Set(requests.map(readIndexName))];
}

/** Returns the ids of the indices whose weights after a close an expression reads. */
export const listDriftedIndices = (expression: DatapointExpression, definitions: Definitions): string[] =>
  listCalls(expression, definitions)
    .filter(({ name }) => name === 'drifted_weight_in')
    .map(readIndexName);

/** Returns true if an expression depends on the previous composition. */
export const readsConstituents = (expression: DatapointExpression, definitions: Definitions): boolean =>
  listCalls(expression, definitions).some(({ name }) => name === 'is_constituent');

/** Returns the largest number of reviews before a decision that an expression reads. */
export function countReviewsBack(expression: DatapointExpression, definitions: Definitions): number {
  const byName = new Map<string, number>();
  const count = (node: ExpressionNode): number => {
    if (node.node === 'field') return countDefinition(node.name);
    const below = listChildren(node).reduce((most, { child }) => Math.max(most, count(child)), 0);
    const entry = node.node === 'function' ? findFunction(node) : undefined;
    return below + (node.node === 'function' && entry?.form === 'memory' ? entry.reviews(node) : 0);
  };
  const countDefinition = (name: string): number => {
    const definition = definitions.get(name);
    if (definition === undefined) return 0;
    let known = byName.get(name);
    if (known === undefined) {
      byName.set(name, 0);
      byName.set(name, (known = count(definition)));
    }
    return known;
  };
  return count(toNode(expression));
}

/** Returns true if an expression reads the dividends of many calendar years. */
export const readsDividendYears = (expression: DatapointExpression, definitions: Definitions): boolean =>
  listCalls(expression, definitions).some(({ name }) => name === 'years_of_growth');

/**
 * Returns the names of a document's datapoints that form a circular definition. Returns an empty list without a cycle.
 */
export function findCircle(definitions: Definitions): readonly string[] {
  const visitedNames = new Set<string>();
  const followName = (name: string, chain: readonly string[]): readonly string[] => {
    if (chain.includes(name)) return [...chain.slice(chain.indexOf(name)), name];
    const definition = definitions.get(name);
    if (definition === undefined || visitedNames.has(name)) return [];
    for (const next of listReadNames(definition)) {
      const circle = followName(next, [...chain, name]);
      if (circle.length > 0) return circle;
    }
    visitedNames.add(name);
    return [];
  };
  for (const name of definitions.keys()) {
    const circle = followName(name, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

export function listReadNames(node: ExpressionNode): string[] {
  if (node.node === 'field') return [node.name];
  const groupNames = node.node === 'function' && node.by !== undefined ? [node.by] : [];
  return [...groupNames, ...listChildren(node).flatMap(({ child }) => listReadNames(child))];
}

interface NodeProblem {
  readonly node: ExpressionNode;
  readonly path: NodePath;
  readonly code: FindingCode;
  readonly message: string;
  readonly accepted?: readonly string[];
}

export interface CheckedTree {
  readonly problems: readonly NodeProblem[];
  /** Unit of the numbers. Null for a condition, or if the unit is unknown. */
  readonly unit: Unit;
}

/** Kind of a node: number, condition, text, list, or a field whose values are not yet known. */
type Kind = 'number' | 'condition' | 'text' | 'list' | 'field';

interface NodeType {
  readonly kind: Kind;
  readonly unit: Unit;
}

type UnitsByName = ReadonlyMap<string, Unit>;

const NO_UNITS: UnitsByName = new Map();

/** Returns the units of defined datapoints. A datapoint that refers to itself has no unit (null). */
export function createUnitReader(definitions: ReadonlyMap<string, ExpressionNode>): UnitsByName {
  const units = new Map<string, Unit>();
  const findUnit = (name: string): void => {
    if (units.has(name)) return;
    units.set(name, null);
    const definition = definitions.get(name)!;
    for (const next of listReadNames(definition)) if (definitions.has(next)) findUnit(next);
    units.set(name, checkTree(definition, 'number', units).unit);
  };
  for (const name of definitions.keys()) findUnit(name);
  return units;
}

/**
 * Checks types, operands and units of a tree as far as possible without a market, and returns every problem with its
 * node.
 * @param expected required kind of the root
 */
export function checkTree(
  root: ExpressionNode,
  expected: 'number' | 'condition',
  unitsByName: UnitsByName = NO_UNITS,
): CheckedTree {
  const problems: NodeProblem[] = [];
  const checker = { problems, named: unitsByName, isOverTime: false };
  const { kind, unit } = findType(root, [], checker);
  expectKind({ node: root, path: [] }, { kind, expected, checker });
  return { problems, unit: expected === 'condition' ? null : unit };
}

interface Checker {
  readonly problems: NodeProblem[];
  readonly named: UnitsByName;
  /** True if the node is inside a function over time, which reads only columns. */
  readonly isOverTime: boolean;
}

interface NodeLocation {
  readonly node: ExpressionNode;
  readonly path: NodePath;
}

const KIND_PHRASES: Readonly<Record<Kind, string>> = {
  number: 'a number',
  condition: 'a condition',
  text: 'a text',
  list: 'a list',
  field: 'a datapoint',
};

function expectKind(
  place: NodeLocation,
  {
    kind,
    expected,
    checker,
  }: { readonly kind: Kind; readonly expected: 'number' | 'condition'; readonly checker: Checker },
): void {
  if (kind === expected || (kind === 'field' && expected === 'number')) return;
  const hint = kind === 'condition' ? '; a condition is the first operand of if' : '';
  const message = `is ${KIND_PHRASES[kind]}, but must be ${KIND_PHRASES[expected]}${hint}`;
  checker.problems.push({ ...place, code: 'WRONG_TYPE', message });
}

function findType(node: ExpressionNode, path: NodePath, checker: Checker): NodeType {
  switch (node.node) {
    case 'value':
      return findConstantType(node.value);
    case 'field': {
      const isScore = (node.transform ?? 'none') !== 'none';
      return { kind: 'field', unit: isScore ? DIMENSIONLESS : findLeafUnit(node.name, checker.named) };
    }
    case 'arithmetic':
      return { kind: 'number', unit: findArithmeticUnit(node, path, checker) };
    case 'function':
      return { kind: 'number', unit: findFunctionUnit(node, path, checker) };
    case 'comparison':
      return checkComparison(node, path, checker);
    case 'all':
    case 'any':
    case 'not':
      for (const { child, path: step } of listChildren(node)) {
        const childLocation = { node: child, path: [...path, ...step] };
        expectKind(childLocation, {
          kind: findType(child, childLocation.path, checker).kind,
          expected: 'condition',
          checker,
        });
      }
      return { kind: 'condition', unit: null };
  }
}

function findLeafUnit(name: string, unitsByName: UnitsByName): Unit {
  const unit = unitsByName.get(name);
  return unit === undefined ? findFieldUnit(name) : unit;
}

function findConstantType(value: unknown): NodeType {
  if (typeof value === 'number') return { kind: 'number', unit: 'constant' };
  if (typeof value === 'boolean') return { kind: 'condition', unit: null };
  return { kind: typeof value === 'string' ? 'text' : 'list', unit: null };
}

/** Returns the units of the operands, and reports operands that are not numbers. */
function listNumericUnits(node: ExpressionNode, path: NodePath, checker: Checker): Unit[] {
  return listChildren(node).map(({ child, path: step }) => {
    const childLocation = { node: child, path: [...path, ...step] };
    const { kind, unit } = findType(child, childLocation.path, checker);
    expectKind(childLocation, { kind, expected: 'number', checker });
    return unit;
  });
}

function findArithmeticUnit(node: ArithmeticNode, path: NodePath, checker: Checker): Unit {
  const { operator, operands } = node;
  if (operands.length === 1 && operator !== '-' && operator !== '+')
    checker.problems.push({ node, path, code: 'REQUIRED', message: `needs two operands for ${operator}` });
  const units = listNumericUnits(node, path, checker);
  switch (operator) {
    case '+':
    case '-':
      return resolveUnit(findCommonUnit(units), { node, path }, checker);
    case '*':
      return units.reduce((leftUnit, right) => multiplyUnits(leftUnit, right, 1));
    case '/':
      return units.reduce((leftUnit, right) => multiplyUnits(leftUnit, right, -1));
    case '^': {
      const exponent = operands[1];
      const isConstant = exponent?.node === 'value' && typeof exponent.value === 'number';
      return raiseUnit(units[0]!, isConstant ? (exponent.value as number) : undefined);
    }
  }
}

/** Returns a unit. If two units do not match, reports a problem and returns no unit. */
function resolveUnit(unit: Unit | UnitClash, place: NodeLocation, { problems }: Checker): Unit {
  if (!isClash(unit)) return unit;
  const message = `combines ${formatUnit(unit.left)!} with ${formatUnit(unit.right)!}; divide by a value of the same unit, or use rank, zscore or share`;
  problems.push({ ...place, code: 'UNIT_MISMATCH', message });
  return null;
}

function checkComparison(node: ComparisonNode, path: NodePath, checker: Checker): NodeType {
  const fieldLocation = { node: node.field, path: [...path, 'field'] };
  const fieldType = findType(node.field, fieldLocation.path, checker);
  if (fieldType.kind !== 'field') expectKind(fieldLocation, { kind: fieldType.kind, expected: 'number', checker });
  if (isExpressionNode(node.value)) {
    const to = { node: node.value, path: [...path, 'value'] };
    const right = findType(node.value, to.path, checker);
    if (right.kind !== 'field') expectKind(to, { kind: right.kind, expected: 'number', checker });
    resolveUnit(findCommonUnit([fieldType.unit, right.unit]), { node, path }, checker);
  } else if (fieldType.kind === 'number' && !isNumeric(node.value)) {
    const message = `compares a number with ${JSON.stringify(node.value)}`;
    checker.problems.push({ node, path, code: 'VALUE_TYPE_MISMATCH', message });
  }
  return { kind: 'condition', unit: null };
}

const isNumeric = (value: unknown): boolean =>
  typeof value === 'number' || (Array.isArray(value) && value.every((item) => typeof item === 'number'));

function findFunctionUnit(node: FunctionNode, path: NodePath, checker: Checker): Unit {
  if (node.plugin !== undefined) return null; // The inputs of a plug-in were checked before it was stored.
  const entry = findFunction(node);
  const reportProblem = (code: FindingCode, message: string, accepted?: readonly string[]): void =>
    void checker.problems.push({ node, path, code, message, ...(accepted ? { accepted } : {}) });
  if (entry === undefined) {
    const isDatapoint = node.operands.length === 0 && DERIVED_NAMES.some((name) => name === node.name);
    const suggestion = isDatapoint ? ` ${node.name} is a datapoint.` : suggestName(node.name, FUNCTION_NAMES);
    reportProblem('UNKNOWN_FUNCTION', `calls ${node.name}, which is not a function.${suggestion}`, FUNCTION_NAMES);
    listNumericUnits(node, path, checker);
    return null;
  }
  for (const [code, message] of listCallProblems(node, entry)) reportProblem(code, message);
  if (checker.isOverTime && entry.form !== 'elementwise' && !isShift(node, entry))
    reportProblem(
      'NOT_IN_CHOICES',
      `calls ${node.name} within a function over time, which accepts only columns and arithmetic`,
    );
  const operandChecker = {
    ...checker,
    isOverTime: checker.isOverTime || entry.form === 'over_time',
  };
  const units = node.operands.map((operand, i) => {
    const operandLocation = { node: operand, path: [...path, 'operands', i] };
    return checkOperand(operandLocation, {
      kind: entry.operands[i] ?? entry.operands.at(-1),
      entry,
      checker: operandChecker,
    });
  });
  if (units.length < entry.least) return null;
  return resolveUnit(entry.unit(units), { node, path }, checker);
}

/** True if a function only reads an earlier session, like `last` without a window. */
const isShift = ({ window }: FunctionNode, { name }: FunctionEntry): boolean => name === 'last' && window === undefined;

/** Reports wrong numbers of operands and wrong options of a call. */
function listCallProblems(node: FunctionNode, entry: FunctionEntry): [FindingCode, string][] {
  const { operands, window, lag } = node;
  const problems: [FindingCode, string][] = [];
  const { least, most, signature } = entry;
  if (operands.length < least || operands.length > most)
    problems.push([
      'OUT_OF_RANGE',
      `passes ${operands.length} operands to ${node.name}: the signature is ${signature}`,
    ]);
  for (const option of ['by', 'over', 'window', 'lag', 'low', 'high'] as const)
    if (node[option] !== undefined && !entry.options.includes(option))
      problems.push(['UNKNOWN_PARAMETER', `passes ${option}= to ${node.name}: the signature is ${signature}`]);
  if (entry.required !== undefined && window === undefined && node[entry.required] === undefined)
    problems.push(['REQUIRED', `needs ${entry.required}= for ${node.name}: the signature is ${signature}`]);
  if (window !== undefined && !isSessions(window, 1))
    problems.push(['OUT_OF_RANGE', `has window=${window}, which must be an integer from 1 to ${LAG_SESSIONS_MAX}`]);
  if (lag !== undefined && !isSessions(lag, 0))
    problems.push(['OUT_OF_RANGE', `has lag=${lag}, which must be an integer from 0 to ${LAG_SESSIONS_MAX}`]);
  for (const option of ['low', 'high'] as const)
    if (!((node[option] ?? 0) >= 0 && (node[option] ?? 1) <= 1))
      problems.push(['OUT_OF_RANGE', `has ${option}=${node[option]}, which must be a fraction from 0 to 1`]);
  const entryProblem = problems.length === 0 ? entry.problem?.(node) : undefined;
  return entryProblem === undefined ? problems : [['OUT_OF_RANGE', entryProblem]];
}

const isSessions = (value: number, least: number): boolean =>
  Number.isInteger(value) && value >= least && value <= LAG_SESSIONS_MAX;

function checkOperand(
  nodeLocation: NodeLocation,
  {
    kind,
    entry,
    checker,
  }: { readonly kind: OperandKind | undefined; readonly entry: FunctionEntry; readonly checker: Checker },
): Unit {
  const { node } = nodeLocation;
  const reportProblem = (message: string): Unit => {
    checker.problems.push({
      ...nodeLocation,
      code: 'WRONG_TYPE',
      message: `${message}: the signature is ${entry.signature}`,
    });
    return null;
  };
  switch (kind) {
    case 'numbers': {
      const isList = node.node === 'value' && Array.isArray(node.value) && isNumeric(node.value);
      return isList ? 'constant' : reportProblem(`is not a list of numbers, which ${entry.name} needs`);
    }
    case 'constant':
      return node.node === 'value' && typeof node.value === 'number'
        ? 'constant'
        : reportProblem(`is not a constant, which ${entry.name} needs`);
    case 'index':
      return node.node === 'value' && typeof node.value === 'string'
        ? 'constant'
        : reportProblem(`is not the id of an index in quotes, which ${entry.name} needs`);
    case 'dividends':
      return node.node === 'field' && node.name === 'DIVIDEND'
        ? 'constant'
        : reportProblem(`is not DIVIDEND, which ${entry.name} needs`);
    case 'date':
      return node.node === 'field' && (node.transform ?? 'none') === 'none' && node.window == null
        ? 'constant'
        : reportProblem(`is not a column of dates, which ${entry.name} needs`);
    case 'number':
    case 'condition':
    case undefined: {
      // The first operand of `if` is a condition, the others are numbers.
      const expectedKind = kind === 'condition' ? 'condition' : 'number';
      const nodeType = findType(node, nodeLocation.path, checker);
      expectKind(nodeLocation, { kind: nodeType.kind, expected: expectedKind, checker });
      return nodeType.unit;
    }
  }
}

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
function checkSize(root: ExpressionNode): SizeProblem[] {
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

type Columns = Pick<MarketData, 'fields' | 'reference'>;

/**
 * Parses a text as the name of a datapoint, or as an expression.
 * @throws SyntaxFault
 */
export const parseField = (text: string, market: Columns | undefined): DatapointExpression =>
  isName(text, market) ? createLatestRequest(text) : parseExpression(text).tree;

/** Returns true if values of a field depend on the universe in addition to the requested securities. */
export function readsUniverse(text: string): boolean {
  const field = parseField(text, undefined);
  return (
    listExpressionReads(field, NO_DEFINITIONS).some(({ field: { name } }) => isRelative(name)) ||
    listCalls(field, NO_DEFINITIONS).some(({ over }) => over === 'universe')
  );
}

const NO_DEFINITIONS: Definitions = new Map();

/** Names that were possible before expressions were introduced: letters, digits, spaces, dots and underscores. */
const NAME_PATTERN = /^[\p{L}\p{N}_][\p{L}\p{N}_ .]{0,63}$/u;

/** Numbers are not names. */
const NUMBER_PATTERN = /^\d+(?:\.\d*)?$/;

/**
 * Returns true if a text is the name of a datapoint. Every exact column name of the market is a name, whatever
 * characters it contains.
 */
export function isName(text: string, market: Columns | undefined): boolean {
  if (market?.fields.has(text) === true || market?.reference.columns.includes(text) === true) return true;
  return NAME_PATTERN.test(text) && !NUMBER_PATTERN.test(text);
}

/**
 * Time at which a node is read: at the decision, at reviews before it, a number of sessions before it, or over trailing
 * sessions.
 */
type EvaluationTime = 'now' | 'review' | 'lag' | 'window';

/** Datapoint of a document that an expression requests over time although this is impossible. */
export interface OverTimeFault {
  readonly name: string;
  /** Function in the datapoint whose value is known only at decisions. */
  readonly called: string;
}

/**
 * Returns the first datapoint of a document that an expression reads with a lag or over a window although its values
 * are known only at decisions. Such datapoints compare securities, depend on decisions or are plug-ins. Over a window,
 * a statistic over a window counts too. Returns undefined if there is no such datapoint.
 */
export function findOverTimeFault(
  expression: DatapointExpression,
  definitions: Definitions,
): OverTimeFault | undefined {
  const visitedNames = new Set<string>();
  const visit = (node: ExpressionNode, evaluationTime: EvaluationTime, name: string): OverTimeFault | undefined => {
    if (node.node === 'field') return visitField(node, evaluationTime, name);
    const calledName = node.node === 'function' ? findCalledAtDecisions(node, evaluationTime) : undefined;
    if (calledName !== undefined) return { name, called: calledName };
    const timeBelow = node.node === 'function' ? findTimeBelow(node, evaluationTime) : evaluationTime;
    return findFirst(listChildren(node), ({ child }) => visit(child, timeBelow, name));
  };
  const visitField = (leaf: FieldLeaf, evaluationTime: EvaluationTime, name: string): OverTimeFault | undefined => {
    const { dataset, lag, aggregate, transform, ...own } = toFieldRequest(leaf);
    if (transform !== 'none' && evaluationTime !== 'now' && evaluationTime !== 'review')
      return { name, called: transform };
    const definition = dataset === null ? definitions.get(own.name) : undefined;
    if (definition === undefined) return undefined;
    const definitionTime =
      aggregate === 'last' ? (lag > 0 ? mergeTimes(evaluationTime, 'lag') : evaluationTime) : 'window';
    const key = `${own.name} ${definitionTime}`;
    if (visitedNames.has(key)) return undefined;
    visitedNames.add(key);
    return visit(definition, definitionTime, own.name);
  };
  return visit(toNode(expression), 'now', '');
}

function findCalledAtDecisions(node: FunctionNode, evaluationTime: EvaluationTime): string | undefined {
  if (evaluationTime === 'now' || evaluationTime === 'review') return undefined;
  if (node.plugin !== undefined) return `the plug-in ${node.plugin.id}`;
  const form = findFunction(node)?.form;
  if (form === 'cross_section' || form === 'decision' || form === 'memory') return node.name;
  return form === 'over_time' && node.window !== undefined && evaluationTime === 'window' ? node.name : undefined;
}

function findTimeBelow(node: FunctionNode, evaluationTime: EvaluationTime): EvaluationTime {
  if (node.plugin !== undefined) return 'now';
  if (evaluationTime === 'now' && findFunction(node)?.form === 'memory') return 'review';
  if (node.name === PLUGIN_FUNCTION || node.window !== undefined) return 'window';
  return node.lag === undefined ? evaluationTime : mergeTimes(evaluationTime, 'lag');
}

const mergeTimes = (leftEvaluationTime: EvaluationTime, right: EvaluationTime): EvaluationTime =>
  leftEvaluationTime === 'window' || right === 'window' ? 'window' : 'lag';

function findFirst<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const result = find(item);
    if (result !== undefined) return result;
  }
  return undefined;
}

export type ExpectedKind = 'number' | 'condition';

export type TextProblem = Pick<Finding, 'code' | 'message' | 'accepted' | 'value' | 'position'>;

export interface ParsedText {
  readonly text: string;
  /** Parsed tree; undefined if there is a problem. */
  readonly tree: ExpressionNode | undefined;
  readonly problems: readonly TextProblem[];
  /** Unit of the values in words. Null if it is unknown. */
  readonly unit: string | null;
  /** Returns the position of the first occurrence of a datapoint. */
  spanOf(name: string): CharacterSpan | undefined;
}

/** Parses a text and reports all of its problems. @param unitsByName units of datapoints by name */
export function readExpression(text: string, expected: ExpectedKind, unitsByName?: UnitsByName): ParsedText {
  const emptyResult = { text, tree: undefined, unit: null, spanOf: () => undefined };
  try {
    const { tree, spans } = parseExpression(text);
    const findSpan = (node: ExpressionNode): CharacterSpan => spans.get(node) ?? { start: 0, end: text.length };
    const checkedTree = checkTree(tree, expected, unitsByName);
    const problems = [
      ...checkSize(tree).map(({ code, message }) => ({
        code,
        message: `The expression ${message}.`,
        position: findSpan(tree),
      })),
      ...checkedTree.problems.map((problem) => locateProblem(text, problem, findSpan(problem.node))),
    ];
    if (problems.length > 0) return { ...emptyResult, problems };
    return {
      text,
      tree,
      problems,
      unit: formatUnit(checkedTree.unit),
      spanOf: (name) => findFieldSpan(tree, name, spans),
    };
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    const { message, span } = error;
    const location = `At character ${span.start + 1} of the expression`;
    return {
      ...emptyResult,
      problems: [
        { code: 'BAD_EXPRESSION', message: `${location}, ${message}.`, position: { start: span.start, end: span.end } },
      ],
    };
  }
}

/** Maximum length of a part of a text that a message quotes. */
const QUOTED_MAX = 80;

function locateProblem(text: string, { code, message, accepted }: NodeProblem, position: CharacterSpan): TextProblem {
  const excerpt = text.slice(position.start, position.end);
  const shortExcerpt = excerpt.length > QUOTED_MAX ? `${excerpt.slice(0, QUOTED_MAX)}...` : excerpt;
  const reportText = `${shortExcerpt} ${message}${/[.?]$/.test(message) ? '' : '.'}`;
  return { code, message: reportText, position, ...(accepted === undefined ? {} : { accepted }) };
}

function findFieldSpan(
  node: ExpressionNode,
  name: string,
  spans: ReadonlyMap<ExpressionNode, CharacterSpan>,
): CharacterSpan | undefined {
  if (node.node === 'field' && node.name === name) return spans.get(node);
  if (node.node === 'function' && node.by === name) return spans.get(node);
  for (const { child } of listChildren(node)) {
    const result = findFieldSpan(child, name, spans);
    if (result !== undefined) return result;
  }
  return undefined;
}
