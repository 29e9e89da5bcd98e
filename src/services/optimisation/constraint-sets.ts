import type { ConstraintSetCollection } from '#contract/constraint-sets.js';
import { findUnknownRowSecurities } from '#domain/checks/identifiers-on-market.js';
import { checkConstraintSet, readConstraintSet, type ConstraintSet } from '#domain/documents/constraint-set.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { checkConstraintFields } from '#domain/optimisation/field-uses.js';
import { compareText, hasErrors, sortFindings, type Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { assertIdOfPath, listTakenIdFindings } from '../shared/document-ids.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import { requireSet, refuseMissingSet } from './optimisation-plans.js';

type Body = Readonly<Record<string, unknown>>;

export interface SavedSet {
  readonly saved: { readonly constraint_set: ConstraintSet; readonly findings: readonly Finding[] };
  readonly etag: string;
}

/** Stored constraint sets. */
export interface ConstraintSets {
  listSets(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<ConstraintSetCollection>;
  /** Returns a constraint set. @throws Refusal CONSTRAINT_SET_NOT_FOUND, DOCUMENT_UNREADABLE */
  getSet(setId: string): Promise<{ readonly set: ConstraintSet; readonly etag: string }>;
  /** Creates a constraint set. @throws Refusal VALIDATION_FAILED */
  createSet(body: Body, by?: Authorship): Promise<SavedSet>;
  /** Creates or replaces a constraint set. @throws Refusal ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED */
  replaceSet(setId: string, body: Body, ifMatch: Precondition | undefined, by?: Authorship): Promise<SavedSet>;
  /** Deletes a constraint set. @throws Refusal CONSTRAINT_SET_NOT_FOUND, PRECONDITION_FAILED */
  removeSet(setId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  validateSet(body: Body): { readonly valid: boolean; readonly findings: readonly Finding[] };
}

export interface ConstraintSetsDependencies {
  readonly documents: DocumentStore;
  readonly markets: Pick<Markets, 'current'>;
}

export function createConstraintSets({ documents, markets }: ConstraintSetsDependencies): ConstraintSets {
  async function save(
    body: Body,
    allow: (tx: DocumentTransaction) => Promise<readonly Finding[]>,
    authorship: Authorship | undefined,
  ): Promise<SavedSet> {
    const write = async (tx: DocumentTransaction): Promise<SavedSet> => {
      const ownFindings = await allow(tx);
      const { set, findings } = checkConstraintSet(body);
      const allFindings = sortFindings([...ownFindings, ...findings, ...listMarketWarnings(set)]);
      if (set === undefined || hasErrors(allFindings)) throw refuseWithFindings('constraint set', allFindings);
      return {
        saved: { constraint_set: set, findings: allFindings },
        etag: await tx.put('constraint-set', set.id, set),
      };
    };
    return documents.transaction(write, { by: authorship });
  }

  /**
   * Returns warnings about data that the served market lacks. A set can still be saved, because another store may have
   * the data.
   */
  function listMarketWarnings(constraintSet: ConstraintSet | undefined): Finding[] {
    const market = markets.current()?.market;
    return constraintSet === undefined || market === undefined
      ? []
      : [
          ...checkConstraintFields(constraintSet.constraints, market, { path: 'constraints', severity: 'warning' }),
          ...findUnknownRowSecurities(constraintSet.constraints, market, 'constraints'),
        ];
  }

  return {
    getSet: (setId) => requireSet(documents, setId),
    async listSets({ limit, after }) {
      const { documents: sets, skipped, skipped_causes } = await documents.list('constraint-set', readConstraintSet);
      const remainingSets = sets.filter(({ id }) => after === undefined || compareText(id, after) > 0);
      return {
        constraint_sets: remainingSets.slice(0, limit ?? remainingSets.length),
        skipped,
        skipped_causes: { ...skipped_causes },
      };
    },
    createSet(body, authorship) {
      return save(
        body,
        (tx) => listTakenIdFindings(tx, { kind: 'constraint-set', name: 'A constraint set', id: body['id'] }),
        authorship,
      );
    },
    replaceSet(setId, body, ifMatch, authorship) {
      assertIdOfPath(setId, body);
      const checkPrecondition = async (tx: DocumentTransaction): Promise<readonly Finding[]> => {
        await assertPrecondition(tx, 'constraint-set', setId, ifMatch);
        return [];
      };
      return save(body, checkPrecondition, authorship);
    },
    async removeSet(setId, ifMatch, authorship) {
      const deleteSet = async (tx: DocumentTransaction): Promise<void> => {
        await assertPrecondition(tx, 'constraint-set', setId, ifMatch);
        if (!(await tx.delete('constraint-set', setId))) throw refuseMissingSet(setId);
      };
      await documents.transaction(deleteSet, { by: authorship });
    },
    validateSet(body) {
      const { set, findings } = checkConstraintSet(body);
      return { valid: set !== undefined, findings: sortFindings([...findings, ...listMarketWarnings(set)]) };
    },
  };
}
