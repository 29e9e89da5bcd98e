import type { FindingCode } from '../../refusals/findings.js';
import { suggestName } from '#base/text/nearest-name.js';
import { DERIVED_NAMES, LAG_SESSIONS_MAX } from '../field-request.js';
import { FUNCTION_NAMES, findFunction } from './functions/catalogue.js';
import type { FunctionEntry, OperandKind } from './functions/function-entry.js';
import { listNames } from './reads.js';
import {
  isExpressionNode,
  listChildren,
  type ArithmeticNode,
  type ComparisonNode,
  type ExpressionNode,
  type FunctionNode,
  type NodePath,
} from './tree.js';
import {
  findCommonUnit,
  isClash,
  DIMENSIONLESS,
  raiseUnit,
  multiplyUnits,
  findFieldUnit,
  formatUnit,
  type Unit,
  type UnitClash,
} from './units.js';

/** Problem of one node of a tree. */
export interface NodeProblem {
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

/** Units of the datapoints that a document defines. */
export type UnitsByName = ReadonlyMap<string, Unit>;

const NO_UNITS: UnitsByName = new Map();

/** Returns the units of defined datapoints. A datapoint that refers to itself has no unit (null). */
export function createUnitReader(definitions: ReadonlyMap<string, ExpressionNode>): UnitsByName {
  const units = new Map<string, Unit>();
  const findUnit = (name: string): void => {
    if (units.has(name)) return;
    units.set(name, null);
    const definition = definitions.get(name)!;
    for (const next of listNames(definition)) if (definitions.has(next)) findUnit(next);
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

interface Expectation {
  readonly kind: Kind;
  readonly expected: 'number' | 'condition';
  readonly checker: Checker;
}

function expectKind(place: NodeLocation, { kind, expected, checker }: Expectation): void {
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
  const operandChecker = entry.form === 'over_time' ? { ...checker, isOverTime: true } : checker;
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

interface OperandCheck {
  readonly kind: OperandKind | undefined;
  readonly entry: FunctionEntry;
  readonly checker: Checker;
}

function checkOperand(nodeLocation: NodeLocation, { kind, entry, checker }: OperandCheck): Unit {
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
