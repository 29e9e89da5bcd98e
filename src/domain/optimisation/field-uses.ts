import { findConstraintClass } from '../constraints/catalogue.js';
import type { DerivationPayload } from '../documents/index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { readObjective, readExpectedReturns, type OptimisationSpec } from '../documents/optimisation-spec.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { createLatestRequest } from '../datapoints/field-request.js';
import { checkFields, type LocatedUse } from '../rules/field-findings.js';
import { type FieldUse, useCategory, useNumber } from '../datapoints/field-use.js';
import type { Definitions } from '../datapoints/expressions/reads.js';
import { isExpressionNode } from '../datapoints/expressions/tree.js';

/** Constraint classes with a numeric field. In all other classes the field defines groups. */
const NUMERIC_CLASSES: ReadonlySet<string> = new Set(['FactorExposure', 'WeightedAverage']);

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
    if (row.type === 'Liquidity') {
      const { window } = entry.params.parse(row.params) as { window: number }; // every Liquidity row has it
      const use = useNumber(createLatestRequest('VALUE_TRADED', { aggregate: 'median', window }));
      return [{ use, path: `${path}[${position}].type`, rowId }];
    }
    const location = { path: `${path}[${position}].params.field`, rowId };
    if (isExpressionNode(field)) return [{ use: useNumber(field), ...location }];
    if (typeof field !== 'string') return [];
    return [{ use: NUMERIC_CLASSES.has(row.type) ? useNumber(field) : useCategory(field), ...location }];
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
