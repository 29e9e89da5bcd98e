import type { ExpressionNode } from '#domain/datapoints/expression-tree.js';

/**
 * Market as tables. Numbers have one row per session, NaN where missing. Strings do not change over time and are null
 * where missing.
 */
export interface Tables {
  readonly numbers: Readonly<Record<string, readonly (readonly number[])[]>>;
  readonly texts: Readonly<Record<string, readonly (string | null)[]>>;
}

/** Session to evaluate. Also the positions of the selected securities and of the universe in the tables. */
export interface EvaluationPoint {
  readonly session: number;
  readonly selection: readonly number[];
  readonly universe: readonly number[];
}

/** Number of sessions for which the last value replaces a missing value. */
const STALE = 5;

type TruthValue = boolean | null;

/**
 * Evaluates an expression for one security by the definitions of the guide, one session and one part of the expression
 * at a time. Returns NaN if the value is missing.
 */
export function interpretExpression(
  node: ExpressionNode,
  tables: Tables,
  point: EvaluationPoint & { readonly security: number },
): number {
  const { session, security } = point;
  const interpretInner = (inner: ExpressionNode, innerPoint = point): number =>
    interpretExpression(inner, tables, innerPoint);
  switch (node.node) {
    case 'value':
      return node.value as number;
    case 'field':
      return carryForward(tables.numbers[node.name]!, session - (node.lag ?? 0), security);
    case 'arithmetic': {
      const values = node.operands.map((operand) => interpretInner(operand));
      if (values.length === 1) return -values[0]!;
      return values.slice(1).reduce((left, right) => toFinite(apply(node.operator, left, right)), values[0]!);
    }
    case 'function':
      if (node.window !== undefined) return evaluateWindow(node, tables, point);
      if (node.name === 'last') return interpretInner(node.operands[0]!, { ...point, session: session - node.lag! });
      return CROSS.has(node.name) && (node.operands.length === 1 || node.name === 'winsorise')
        ? evaluateAcross(node, tables, point)
        : toFinite(
            evaluateSimple(
              node,
              (operand) => interpretInner(operand),
              (inner) => evaluateTruth(inner, tables, point),
            ),
          );
    default:
      throw new Error('not a number');
  }
}

const toFinite = (x: number): number => (Number.isFinite(x) ? x : NaN);

function carryForward(rows: readonly (readonly number[])[], session: number, security: number): number {
  for (let t = session; t >= Math.max(0, session - STALE); t--) {
    const value = rows[t]?.[security];
    if (value !== undefined && !Number.isNaN(value)) return value;
  }
  return NaN;
}

function apply(operator: string, left: number, right: number): number {
  if (operator === '+') return left + right;
  if (operator === '-') return left - right;
  if (operator === '*') return left * right;
  return operator === '/' ? left / right : left ** right;
}

type Call = Extract<ExpressionNode, { node: 'function' }>;

function evaluateSimple(
  call: Call,
  interpret: (node: ExpressionNode) => number,
  is: (node: ExpressionNode) => TruthValue,
): number {
  const [first, second, third] = call.operands;
  const list = (node: ExpressionNode): number[] => (node as { value: number[] }).value;
  switch (call.name) {
    case 'min':
      return Math.min(...call.operands.map(interpret));
    case 'max':
      return Math.max(...call.operands.map(interpret));
    case 'abs':
      return Math.abs(interpret(first!));
    case 'exp':
      return Math.exp(interpret(first!));
    case 'log':
      return interpret(first!) > 0 ? Math.log(interpret(first!)) : NaN;
    case 'sqrt':
      return Math.sqrt(interpret(first!));
    case 'ceil':
    case 'floor':
    case 'round':
      return roundToStep(call.name, interpret(first!), second === undefined ? 1 : interpret(second));
    case 'clip':
      return Math.min(Math.max(interpret(first!), interpret(second!)), interpret(third!));
    case 'coalesce': {
      const value = interpret(first!);
      return Number.isNaN(value) ? interpret(second!) : value;
    }
    case 'if': {
      const truth = is(first!);
      return truth === null ? NaN : interpret(truth ? second! : third!);
    }
    case 'ladder': {
      const x = interpret(first!);
      const edges = list(second!);
      const step = edges.filter((edge) => edge < x).length;
      return Number.isNaN(x) ? NaN : list(third!)[step]!;
    }
    default:
      throw new Error(call.name);
  }
}

/** Rounds to a multiple of a step. A distance of 1e-9 steps is a rounding error. */
function roundToStep(name: string, x: number, step: number): number {
  const steps = x / step;
  const below = Math.floor(steps);
  if (Number.isNaN(steps) || steps - below < 1e-9 * Math.max(1, Math.abs(steps))) return below * step;
  if (below + 1 - steps < 1e-9 * Math.max(1, Math.abs(steps))) return (below + 1) * step;
  if (name === 'ceil') return (below + 1) * step;
  if (name === 'floor') return below * step;
  const isUp = steps > 0 ? steps - below >= 0.5 - 1e-9 : steps - below > 0.5 + 1e-9;
  return (isUp ? below + 1 : below) * step;
}

export function evaluateTruth(
  node: ExpressionNode,
  tables: Tables,
  point: EvaluationPoint & { readonly security: number },
): TruthValue {
  switch (node.node) {
    case 'not': {
      const truth = evaluateTruth(node.operand, tables, point);
      return truth === null ? null : !truth;
    }
    case 'all': {
      const truths = node.operands.map((operand) => evaluateTruth(operand, tables, point));
      return truths.includes(false) ? false : truths.includes(null) ? null : true;
    }
    case 'any': {
      const truths = node.operands.map((operand) => evaluateTruth(operand, tables, point));
      return truths.includes(true) ? true : truths.includes(null) ? null : false;
    }
    case 'comparison': {
      const { field, comparison, value } = node;
      const isText = field.node === 'field' && field.name in tables.texts;
      const left = isText ? tables.texts[field.name]![point.security]! : interpretExpression(field, tables, point);
      const isNode = typeof value === 'object' && value !== null && 'node' in value;
      const right: unknown = isNode ? interpretExpression(value as ExpressionNode, tables, point) : value;
      if (left === null || Number.isNaN(left) || Number.isNaN(right)) return null;
      return isComparisonTrue(left, comparison, right);
    }
    default:
      throw new Error('not a condition');
  }
}

function isComparisonTrue(left: number | string, comparison: string, right: unknown): boolean {
  if (comparison === 'in') return (right as unknown[]).includes(left);
  if (comparison === 'between')
    return Number(left) >= (right as number[])[0]! && Number(left) <= (right as number[])[1]!;
  if (comparison === 'eq') return left === right;
  if (comparison === 'ne') return left !== right;
  const [a, b] = [left as number, right as number];
  return comparison === 'gt' ? a > b : comparison === 'ge' ? a >= b : comparison === 'lt' ? a < b : a <= b;
}

/**
 * Returns the values of an expression over the sessions of a window. A missing value stays missing; the last value does
 * not replace it.
 */
function evaluateWindow(call: Call, tables: Tables, point: EvaluationPoint & { readonly security: number }): number {
  const end = point.session - (call.lag ?? 0);
  const start = Math.max(0, end - call.window! + 1);
  const points: [number, number][] = [];
  for (let t = start; t <= end; t++) {
    const value = evaluateOnSession(call.operands[0]!, tables, { ...point, session: t });
    if (!Number.isNaN(value)) points.push([t, value]);
  }
  const values = points.map(([, value]) => value);
  const n = values.length;
  if (call.name === 'first') return values[0] ?? NaN;
  if (call.name === 'last') return values.at(-1) ?? NaN;
  if (n < Math.max(1, Math.ceil(call.window! / 2))) return NaN;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  switch (call.name) {
    case 'mean':
      return mean;
    case 'sum':
      return mean * n;
    case 'count':
      return n;
    case 'min':
      return Math.min(...values);
    case 'max':
      return Math.max(...values);
    case 'median':
      return computeMedian(values);
    case 'std':
      return n < 2 ? NaN : Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
    default: {
      const middle = points.reduce((sum, [t]) => sum + t, 0) / n;
      const products = points.reduce((sum, [t, value]) => sum + (t - middle) * (value - mean), 0);
      return n < 2 ? NaN : products / points.reduce((sum, [t]) => sum + (t - middle) ** 2, 0);
    }
  }
}

/** Evaluates an expression for one session of a window. Columns have their values of this session. */
function evaluateOnSession(
  node: ExpressionNode,
  tables: Tables,
  point: EvaluationPoint & { readonly security: number },
): number {
  const bareTables: Tables = {
    texts: tables.texts,
    numbers: Object.fromEntries(Object.entries(tables.numbers).map(([name, rows]) => [name, spread(rows)])),
  };
  return interpretExpression(spreadLags(node), bareTables, { ...point, session: point.session * (STALE + 1) });
}

/** Inserts empty rows between rows, so that the last value of a row cannot replace a value of the next row. */
const spread = (rows: readonly (readonly number[])[]): number[][] => {
  const cachedRows = SPREAD.get(rows);
  if (cachedRows !== undefined) return cachedRows;
  const emptyRow = rows[0]!.map(() => NaN);
  const wideRows = rows.flatMap((row) => [[...row], ...Array.from({ length: STALE }, () => emptyRow)]);
  SPREAD.set(rows, wideRows);
  return wideRows;
};
const SPREAD = new WeakMap<object, number[][]>();

/** Returns the expression for rows with empty rows between them. Its lags also count the empty rows. */
function spreadLags(node: ExpressionNode): ExpressionNode {
  return JSON.parse(JSON.stringify(node), (key, value: unknown) =>
    key === 'lag' ? (value as number) * (STALE + 1) : value,
  ) as ExpressionNode;
}

const computeMedian = (values: readonly number[]): number => {
  const sortedValues = values.toSorted((a, b) => a - b);
  const half = sortedValues.length >> 1;
  return sortedValues.length % 2 === 1 ? sortedValues[half]! : (sortedValues[half - 1]! + sortedValues[half]!) / 2;
};

const CROSS = new Set([
  'zscore',
  'percentile',
  'rank',
  'demean',
  'share',
  'coverage',
  'sum',
  'mean',
  'median',
  'winsorise',
]);

function evaluateAcross(call: Call, tables: Tables, point: EvaluationPoint & { readonly security: number }): number {
  const positions = call.over === 'universe' ? point.universe : point.selection;
  const findGroup = (security: number): string | null =>
    call.by === undefined ? '' : tables.texts[call.by]![security]!;
  const peers = positions.filter((security) => findGroup(security) === findGroup(point.security));
  const scope = { ...point, selection: positions };
  const evaluateOperand = (security: number): number =>
    interpretExpression(call.operands[0]!, tables, { ...scope, security });
  const values = peers.map(evaluateOperand).filter((value) => !Number.isNaN(value));
  const ownValue = evaluateOperand(point.security);
  const n = values.length;
  const total = values.reduce((sum, value) => sum + value, 0);
  const mean = total / n;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n);
  const larger = values.filter((value) => value > ownValue).length;
  if (n === 0) return NaN;
  if (call.name === 'sum') return total;
  if (call.name === 'mean') return mean;
  if (call.name === 'median') return computeMedian(values);
  if (Number.isNaN(ownValue)) return NaN;
  switch (call.name) {
    case 'zscore':
      return values.every((value) => value === values[0]) ? 0 : (ownValue - mean) / deviation;
    case 'rank':
      return 1 + larger;
    case 'percentile':
      return n === 1 ? 1 : (n - 1 - larger) / (n - 1);
    case 'demean':
      return ownValue - mean;
    case 'share':
      return toFinite(ownValue / total);
    case 'coverage':
      return toFinite(values.filter((value) => value >= ownValue).reduce((sum, value) => sum + value, 0) / total);
    default: {
      const k = (call.operands[1] as { value: number } | undefined)?.value;
      const sortedValues = values.toSorted((a, b) => a - b);
      const computeQuantile = (share: number): number => {
        const position = share * (n - 1);
        const [low, high] = [sortedValues[Math.floor(position)]!, sortedValues[Math.ceil(position)]!];
        return low + (position - Math.floor(position)) * (high - low);
      };
      const low = k === undefined ? computeQuantile(call.low ?? 0) : mean - k * deviation;
      const high = k === undefined ? computeQuantile(call.high ?? 1) : mean + k * deviation;
      return Math.min(Math.max(ownValue, low), high);
    }
  }
}
