import { canonicalJson } from '../json/canonical-json.js';
import { validateConstraints } from '../constraints/validate.js';
import { smallValue, type Finding } from '../refusals/findings.js';
import { error, isObject, type IndexContext, type Raw } from './index-context.js';
import { isDerivedDocument, type IndexDocument } from '../documents/index-document.js';
import { ConstraintRow } from '../constraints/constraint-row.js';
import { optimisationFindings } from '../documents/optimisation-spec.js';
import { referenceFindings } from './validate-reference.js';

/** The source, the objective and the constraint rows of a derived index. */
export function derivationFindings(derivation: Raw, body: Raw, { indexOf, replaces }: IndexContext): Finding[] {
  const findings: Finding[] = [];
  const { source_index_id: source, constraints } = derivation;
  if (typeof source === 'string') {
    const path = 'derivation.source_index_id';
    findings.push(...referenceFindings(source, body['id'], path, indexOf));
    const before = replaces?.derivation?.source_index_id;
    if (before !== undefined && before !== source) {
      findings.push(
        error(
          'IMMUTABLE_FIELD',
          path,
          `The source of a derived index does not change: it is ${before}, not ${source}.`,
          { value: source },
        ),
      );
    }
  }
  findings.push(...optimisationFindings(derivation, 'derivation.'));
  if (Array.isArray(constraints)) findings.push(...constraintFindings(constraints));
  return findings;
}

/** A derived index stays one: its source could change by way of a document without any. */
export function sourceDropped({ id, derivation }: Raw, { replaces }: IndexContext): Finding[] {
  const before = replaces?.derivation?.source_index_id;
  if (before === undefined || (derivation !== undefined && derivation !== null)) return [];
  const message = `The source of a derived index does not change: that of ${String(id)} is ${before}, and the document has no derivation. Rules need an index of another id.`;
  return [error('IMMUTABLE_FIELD', 'derivation.source_index_id', message, { value: null })];
}

/** Rows whose shape is right keep their position, so that every path is the client's. */
function constraintFindings(rows: readonly unknown[]): Finding[] {
  const shaped = rows.map((row) =>
    ConstraintRow.safeParse(isObject(row) ? { id: row['id'], type: row['type'], params: row['params'] } : row),
  );
  if (shaped.every(({ success }) => success))
    return validateConstraints(
      shaped.map(({ data }) => data!),
      { path: 'derivation.constraints' },
    );
  return shaped.flatMap(({ data }, i) =>
    data === undefined
      ? []
      : validateConstraints([data], { path: 'derivation.constraints' }).map((finding) => ({
          ...finding,
          path: finding.path.replace('[0]', `[${i}]`),
        })),
  );
}

/** Fields that a derived index copies from its parent at creation and keeps when the parent changes. */
export const INHERITED_FIELDS = ['base_date', 'base_value', 'currency', 'calendar', 'rebalance'] as const;

export function inheritanceFindings(document: IndexDocument, { indexOf }: IndexContext): Finding[] {
  if (!isDerivedDocument(document)) return [];
  const parent = indexOf(document.derivation.source_index_id);
  if (parent === undefined) return [];
  return INHERITED_FIELDS.filter((field) => canonicalJson(document[field]) !== canonicalJson(parent[field])).map(
    (field) => ({
      severity: 'warning' as const,
      code: 'PARENT_CHANGED' as const,
      path: field,
      message: `${field} differs from that of the parent ${parent.id}, which is ${JSON.stringify(parent[field])}.`,
      ...smallValue(document[field]),
    }),
  );
}
