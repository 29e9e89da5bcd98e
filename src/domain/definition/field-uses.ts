import { describeUnknownField, type Finding } from '../base/findings.js';
import {
  type Definitions,
  findOverTimeFault,
  listExpressionReads,
  type OverTimeFault,
  type CheckedPluginInput,
} from '../datapoints/expression-checks.js';
import { acceptsKind } from '../datapoints/expression-text.js';
import {
  type ComparisonNode,
  type FieldUse,
  isExpressionNode,
  isField,
  toFieldRequest,
  useCategory,
  useNumber,
} from '../datapoints/expression-tree.js';
import {
  type Columns,
  type FieldRequest,
  findReferenceKind,
  listFieldNames,
  resolveColumn,
  resolveName,
  type ValueKind,
} from '../datapoints/fields.js';
import type { MarketData } from '../market/market-data.js';
import type { ConstraintRow } from './constraint-class.js';
import { findConstraintClass } from './constraints.js';
import type { DerivationPayload } from './index-document.js';
import { type OptimisationSpec, readExpectedReturns, readObjective } from './optimisation.js';

export interface LocatedUse {
  readonly use: FieldUse;
  /** Path of the datapoint in the document. */
  readonly path: string;
  readonly rowId: string | null;
}

const NO_DEFINITIONS: Definitions = new Map();

/**
 * Reports datapoints of a document that the market lacks. They are warnings when the document is saved, because another
 * store may have them, and errors when it is computed.
 * @param definitions expressions that the document defines
 */
export function checkFields(
  uses: readonly LocatedUse[],
  market: MarketData,
  severity: 'error' | 'warning',
  definitions = NO_DEFINITIONS,
): Finding[] {
  return uses.flatMap(({ use, path, rowId }) => {
    const reports = new Set<string>();
    const fault = findOverTimeFault(use.field, definitions);
    if (fault !== undefined) return [reportOverTime(fault, { path, rowId })];
    return listNeeds(use, definitions).flatMap((need) => {
      const problem = findProblem(need, market);
      if (problem === undefined || reports.has(problem.message)) return [];
      reports.add(problem.message);
      return [{ severity, path, row_id: rowId, ...problem }];
    });
  });
}

/**
 * Returns the columns that a market lacks for the datapoints of a document, sorted, including columns required by
 * derived datapoints.
 */
export function listMissingColumns(
  uses: readonly LocatedUse[],
  market: Columns,
  definitions = NO_DEFINITIONS,
): string[] {
  const missingFindings = uses.flatMap(({ use }) =>
    listNeeds(use, definitions).flatMap(({ field }) => {
      const result = resolveName(market, field);
      return 'missing' in result ? [resolveColumn(result.missing)] : [];
    }),
  );
  return [...new Set(missingFindings)].sort();
}

/** Returns the error for an expression for which no store can provide data. */
function reportOverTime({ name, called }: OverTimeFault, { path, rowId }: Omit<LocatedUse, 'use'>): Finding {
  const message = `${name} is read with a lag, over a window or at earlier reviews, but ${called} in it is known only at decisions.`;
  return { severity: 'error', code: 'NOT_IN_CHOICES', path, row_id: rowId, message, value: name };
}

type Problem = Pick<Finding, 'code' | 'message' | 'accepted' | 'value'>;

/** Datapoint of the market, with its required type. */
interface Need {
  readonly field: FieldRequest;
  readonly needsNumber: boolean;
  readonly comparison: ComparisonNode | null;
  readonly input: CheckedPluginInput | null;
}

function listNeeds({ field: expression, as, comparison }: FieldUse, definitions: Definitions): Need[] {
  if (isField(expression) && !definitions.has(expression.name)) {
    const field = toFieldRequest(expression);
    const needsNumber = as === 'number' || field.aggregate !== 'last' || field.transform !== 'none';
    return [{ field, needsNumber, comparison: comparison ?? null, input: null }];
  }
  const isWhole = isField(expression) && as !== 'number';
  return listExpressionReads(expression, definitions).map((readDatapoint) => ({
    field: readDatapoint.field,
    needsNumber: readDatapoint.as === 'number' && !(isWhole && readDatapoint.field.aggregate === 'last'),
    comparison: readDatapoint.comparison,
    input: readDatapoint.input,
  }));
}

function findProblem({ field, needsNumber, comparison, input }: Need, market: MarketData): Problem | undefined {
  const result = resolveName(market, field);
  if ('missing' in result) {
    const needText = result.missing === field.name ? '' : `, which ${field.name} needs`;
    const readerText = describeReader(input);
    const storePhrase = field.dataset === null ? 'The store' : `The dataset ${field.dataset} of the store`;
    const acceptedNames = listFieldNames(market);
    return describeUnknownField(`${storePhrase} has no ${result.missing}${needText}${readerText}.`, {
      name: result.missing,
      accepted: acceptedNames,
      value: field.name,
    });
  }
  const kind = result.dataset === 'reference' ? findReferenceKind(market, field.name) : 'number';
  if (needsNumber && kind !== 'number') {
    return {
      code: 'VALUE_TYPE_MISMATCH',
      message: `${field.name} contains ${PLURAL[kind]}, but numbers are required${describeReader(input)}.`,
      value: field.name,
    };
  }
  if (comparison !== null && !acceptsKind(comparison, kind)) {
    return {
      code: 'VALUE_TYPE_MISMATCH',
      message: `${field.name} contains ${PLURAL[kind]}, which ${comparison.comparison} cannot compare with ${JSON.stringify(comparison.value)}.`,
      value: field.name,
    };
  }
  return undefined;
}

const describeReader = (input: CheckedPluginInput | null): string =>
  input === null ? '' : `; the input ${input.name} of the plug-in ${input.plugin} reads it`;

const PLURAL: Readonly<Record<ValueKind, string>> = { number: 'numbers', string: 'texts', boolean: 'booleans' };

/** Path of rows or of a specification, and severity of the findings if the market lacks their data. */
interface MarketCheck {
  readonly path: string;
  readonly severity: 'error' | 'warning';
  /** Expressions that the document defines. Default: none. */
  readonly definitions?: Definitions;
}

/** Reports datapoints of constraint rows that the market lacks, or that have an unsuitable type. */
export function checkConstraintFields(
  rows: readonly ConstraintRow[],
  market: MarketData,
  { path, severity, definitions }: MarketCheck,
): Finding[] {
  return checkFields(listRowFields(rows, path), market, severity, definitions);
}

/**
 * Returns the datapoints that constraint rows read, with their paths.
 * @param path path of the row list.
 */
export function listRowFields(rows: readonly ConstraintRow[], path: string): LocatedUse[] {
  return rows.flatMap((row, position): LocatedUse[] => {
    const entry = findConstraintClass(row.type);
    const { field } = row.params;
    const rowId = row.id === '' ? null : row.id;
    if (entry === undefined) return [];
    if (entry.readsDatapoint !== undefined) {
      const use = useNumber(entry.readsDatapoint(entry.params.parse(row.params)));
      return [{ use, path: `${path}[${position}].type`, rowId }];
    }
    const location = { path: `${path}[${position}].params.field`, rowId };
    if (isExpressionNode(field)) return [{ use: useNumber(field), ...location }];
    if (typeof field !== 'string') return [];
    return [{ use: entry.hasNumericField === true ? useNumber(field) : useCategory(field), ...location }];
  });
}

/**
 * Returns the datapoints that an objective and expected returns read, with their paths.
 * @param path path of the containing object, with its dot.
 * @param identifiers identifiers of the market. Default: unknown
 */
export function listSpecFields(
  spec: OptimisationSpec,
  path: string,
  identifiers: readonly string[] = [],
): LocatedUse[] {
  const securities = new Set(identifiers);
  const { entry, params } = readObjective(spec.objective);
  const returns = readExpectedReturns(spec);
  const createLocatedUse = (rowPath: string) => (use: FieldUse) => ({
    use,
    path: `${path}${rowPath}.${use.path}`,
    rowId: null,
  });
  return [
    ...entry.reads(params, (name) => securities.has(name)).map(createLocatedUse('objective')),
    ...(returns === null ? [] : returns.entry.reads(returns.params).map(createLocatedUse('expected_returns'))),
  ];
}

/** Reports datapoints of an objective and expected returns that the market lacks, or that have an unsuitable type. */
export function checkSpecFields(
  spec: OptimisationSpec,
  market: MarketData,
  { path, severity, definitions }: MarketCheck,
): Finding[] {
  return checkFields(listSpecFields(spec, path, market.identifiers), market, severity, definitions);
}

/**
 * Returns the datapoints that a derivation reads for every security, with their paths.
 * @param identifiers identifiers of the market. Default: unknown
 */
export function listReadFields(derivation: DerivationPayload, identifiers: readonly string[] = []): LocatedUse[] {
  return [
    ...listSpecFields(derivation, 'derivation.', identifiers),
    ...listRowFields(derivation.constraints, 'derivation.constraints'),
  ];
}
