import type { IndexDocument } from './index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';

/**
 * Parameter whose default has changed. Documents that are accepted now state it explicitly. A row without it was stored
 * by an earlier version and has the earlier default, which is still the default of the class.
 */
interface ChangedDefault {
  readonly type: string;
  readonly parameter: string;
  readonly earlier: string;
  readonly today: string;
  /** True if the default applies only to derived indices. */
  readonly isOfDerivations: boolean;
}

/** Parameters whose defaults changed after version 0.2.0. */
const CHANGED_DEFAULTS: readonly ChangedDefault[] = [
  { type: 'Turnover', parameter: 'reference', earlier: 'index', today: 'held', isOfDerivations: true },
  { type: 'WeightedAverage', parameter: 'missing', earlier: 'zero', today: 'renormalise', isOfDerivations: false },
];

type Version = 'earlier' | 'today';

/**
 * Returns rows with explicit values for parameters whose defaults have changed. @param version version of the defaults
 * to add
 */
export function stateRowDefaults<R extends readonly ConstraintRow[]>(
  rows: R,
  version: Version,
  { isDerivation = false } = {},
): R {
  const listMissing = ({ type, params }: ConstraintRow) =>
    CHANGED_DEFAULTS.filter(
      (entry) =>
        entry.type === type && params[entry.parameter] === undefined && (isDerivation || !entry.isOfDerivations),
    );
  if (rows.every((row) => listMissing(row).length === 0)) return rows;
  return rows.map((row) => {
    const missingEntries = listMissing(row).map((entry) => [entry.parameter, entry[version]]);
    return missingEntries.length === 0
      ? row
      : { ...row, params: { ...row.params, ...Object.fromEntries(missingEntries) } };
  }) as readonly ConstraintRow[] as R; // the result has the same number of rows, each of the same form
}

/** Returns an index with explicit values for the parameters whose defaults have changed. */
export function stateIndexDefaults(document: IndexDocument, version: Version): IndexDocument {
  const { derivation } = document;
  if (derivation === null) return document;
  const constraints = stateRowDefaults(derivation.constraints, version, { isDerivation: true });
  return constraints === derivation.constraints
    ? document
    : { ...document, derivation: { ...derivation, constraints } };
}
