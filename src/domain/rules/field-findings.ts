import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { describeUnknownField } from '../refusals/unknown-field.js';
import { acceptsKind } from '../datapoints/expressions/sentences.js';
import {
  resolveColumn,
  listFieldNames,
  findReferenceKind,
  resolveName,
  type Columns,
  type ValueKind,
} from '../datapoints/resolution.js';
import { findOverTimeFault, type OverTimeFault } from '../datapoints/expressions/over-time-faults.js';
import { listExpressionReads, type Definitions, type PluginInput } from '../datapoints/expressions/reads.js';
import { isField, toFieldRequest, type ComparisonNode } from '../datapoints/expressions/tree.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { FieldRequest } from '../datapoints/field-request.js';

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
  const message = `${name} is read with a lag or over a window, but ${called} in it is known only at decisions.`;
  return { severity: 'error', code: 'NOT_IN_CHOICES', path, row_id: rowId, message, value: name };
}

type Problem = Pick<Finding, 'code' | 'message' | 'accepted' | 'value'>;

/** Datapoint of the market, with its required type. */
interface Need {
  readonly field: FieldRequest;
  readonly needsNumber: boolean;
  readonly comparison: ComparisonNode | null;
  /** Plug-in input that reads the datapoint. */
  readonly input: PluginInput | null;
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

const describeReader = (input: PluginInput | null): string =>
  input === null ? '' : `; the input ${input.name} of the plug-in ${input.plugin} reads it`;

const PLURAL: Readonly<Record<ValueKind, string>> = { number: 'numbers', string: 'texts', boolean: 'booleans' };
