import { findConstraintClass } from '../constraints/catalogue.js';
import type { DerivationPayload } from '../documents/index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { objectiveOf, returnsOf, type OptimisationSpec } from '../documents/optimisation-spec.js';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { unknownField } from '../refusals/unknown-field.js';
import { latest, type FieldRequest } from '../datapoints/field-request.js';
import { fieldFindings, type PlacedUse } from '../rules/field-findings.js';
import type { FieldUse } from '../datapoints/field-use.js';
import { namesOf, referenceKind, resolve } from '../datapoints/resolution.js';

/** Classes whose field has to hold numbers; the others group by it. */
const NUMERIC: ReadonlySet<string> = new Set(['FactorExposure', 'WeightedAverage']);

/** Datapoints that constraint rows read and the market lacks, or holds in a kind they cannot use. */
export function constraintFieldFindings(
  rows: readonly ConstraintRow[],
  market: MarketData,
  { path, severity }: { readonly path: string; readonly severity: 'error' | 'warning' },
): Finding[] {
  return rows.flatMap((row, position): Finding[] => {
    const name = fieldOf(row);
    if (name === undefined || findConstraintClass(row.type) === undefined) return [];
    const at = {
      severity,
      path: row.type === 'Liquidity' ? `${path}[${position}].type` : `${path}[${position}].params.field`,
      row_id: row.id === '' ? null : row.id,
    };
    const found = resolve(market, { name, dataset: null });
    if ('missing' in found)
      return [
        {
          ...at,
          ...unknownField(
            `The store has no ${found.missing}${found.missing === name ? '' : `, which ${name} needs`}.`,
            {
              name: found.missing,
              accepted: namesOf(market),
              value: name,
            },
          ),
        },
      ];
    if (!NUMERIC.has(row.type) || found.dataset !== 'reference' || referenceKind(market, name) === 'number') return [];
    return [
      {
        ...at,
        code: 'VALUE_TYPE_MISMATCH',
        message: `${name} does not hold numbers, which ${row.type} needs.`,
        value: name,
      },
    ];
  });
}

/**
 * Datapoints that an objective and expected returns read, at the paths that name them.
 * @param path Of what holds them, with its dot.
 */
function specUses(spec: OptimisationSpec, path: string): PlacedUse[] {
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
  { path, severity }: { readonly path: string; readonly severity: 'error' | 'warning' },
): Finding[] {
  return fieldFindings(specUses(spec, path), market, severity);
}

/** Datapoints that a derivation reads of every name, at the paths that name them. */
export function fieldsRead(derivation: DerivationPayload): { readonly path: string; readonly field: FieldRequest }[] {
  return [
    ...specUses(derivation, 'derivation.').map(({ use, path }) => ({ path, field: use.field })),
    ...rowsRead(derivation.constraints),
  ];
}

function rowsRead(rows: readonly ConstraintRow[]): { readonly path: string; readonly field: FieldRequest }[] {
  return rows.flatMap((row, position) => {
    const name = fieldOf(row);
    if (name === undefined) return [];
    if (row.type !== 'Liquidity')
      return [{ path: `derivation.constraints[${position}].params.field`, field: latest(name) }];
    const { window } = findConstraintClass(row.type)!.params.parse(row.params) as { window: number }; // Liquidity has one.
    return [{ path: `derivation.constraints[${position}].type`, field: latest(name, { aggregate: 'median', window }) }];
  });
}

function fieldOf({ type, params }: ConstraintRow): string | undefined {
  if (type === 'Liquidity') return 'VALUE_TRADED';
  return typeof params['field'] === 'string' ? params['field'] : undefined;
}
