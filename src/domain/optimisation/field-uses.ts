import { findConstraintClass } from '../constraints/catalogue.js';
import type { DerivationPayload } from '../documents/index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { objectiveOf, returnsOf, type OptimisationSpec } from '../documents/optimisation-spec.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { latest } from '../datapoints/field-request.js';
import { fieldFindings, type PlacedUse } from '../rules/field-findings.js';
import { type FieldUse, category, numeric } from '../datapoints/field-use.js';
import type { Definitions } from '../datapoints/expressions/reads.js';
import { isExpressionNode } from '../datapoints/expressions/tree.js';

/** Classes whose field has to hold numbers; the others group by it. */
const NUMERIC: ReadonlySet<string> = new Set(['FactorExposure', 'WeightedAverage']);

/** Where rows or a specification stand, and how much it matters that the market lacks what they read. */
interface OnMarket {
  readonly path: string;
  readonly severity: 'error' | 'warning';
  /** Expressions that the document names; none unless given. */
  readonly definitions?: Definitions;
}

/** Datapoints that constraint rows read and the market lacks, or holds in a kind they cannot use. */
export function constraintFieldFindings(
  rows: readonly ConstraintRow[],
  market: MarketData,
  { path, severity, definitions }: OnMarket,
): Finding[] {
  return fieldFindings(rowUses(rows, path), market, severity, definitions);
}

/** Datapoints that constraint rows read, at the paths that name them. @param path Of their list. */
export function rowUses(rows: readonly ConstraintRow[], path: string): PlacedUse[] {
  return rows.flatMap((row, position): PlacedUse[] => {
    const entry = findConstraintClass(row.type);
    const { field } = row.params;
    const rowId = row.id === '' ? null : row.id;
    if (entry === undefined) return [];
    if (row.type === 'Liquidity') {
      const { window } = entry.params.parse(row.params) as { window: number }; // Liquidity has one.
      const use = numeric(latest('VALUE_TRADED', { aggregate: 'median', window }));
      return [{ use, path: `${path}[${position}].type`, rowId }];
    }
    const at = { path: `${path}[${position}].params.field`, rowId };
    if (isExpressionNode(field)) return [{ use: numeric(field), ...at }];
    if (typeof field !== 'string') return [];
    return [{ use: NUMERIC.has(row.type) ? numeric(field) : category(field), ...at }];
  });
}

/**
 * Datapoints that an objective and expected returns read, at the paths that name them.
 * @param path Of what holds them, with its dot.
 */
export function specUses(spec: OptimisationSpec, path: string): PlacedUse[] {
  const { entry, params } = objectiveOf(spec.objective);
  const returns = returnsOf(spec);
  const placed = (at: string) => (use: FieldUse) => ({ use, path: `${path}${at}.${use.path}`, rowId: null });
  return [
    ...entry.reads(params).map(placed('objective')),
    ...(returns === null ? [] : returns.entry.reads(returns.params).map(placed('expected_returns'))),
  ];
}

/** Datapoints of an objective and expected returns that the market lacks, or holds in a kind they cannot use. */
export function specFieldFindings(
  spec: OptimisationSpec,
  market: MarketData,
  { path, severity, definitions }: OnMarket,
): Finding[] {
  return fieldFindings(specUses(spec, path), market, severity, definitions);
}

/** Datapoints that a derivation reads of every name, at the paths that name them. */
export function fieldsRead(derivation: DerivationPayload): PlacedUse[] {
  return [...specUses(derivation, 'derivation.'), ...rowUses(derivation.constraints, 'derivation.constraints')];
}
