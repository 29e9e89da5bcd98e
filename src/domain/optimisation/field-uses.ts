import { findConstraintClass } from '../constraints/catalogue.js';
import type { ConstraintRow } from '../documents/index-document.js';
import type { Finding } from '../findings.js';
import type { MarketData } from '../market/market-data.js';
import { latest, type FieldRequest } from '../rules/datapoints/field-request.js';
import { namesOf, referenceKind, resolve } from '../rules/datapoints/resolution.js';

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
          code: 'UNKNOWN_FIELD_NAME',
          message: `The store has no ${found.missing}${found.missing === name ? '' : `, which ${name} needs`}.`,
          accepted: namesOf(market),
          value: name,
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

/** Datapoints that constraint rows read of every name, at the paths that name them. */
export function fieldsRead(rows: readonly ConstraintRow[]): { readonly path: string; readonly field: FieldRequest }[] {
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
