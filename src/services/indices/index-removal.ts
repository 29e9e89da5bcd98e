import type { IndexDeletion } from '#contract/indices/definition.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import type { Admission, ApprovalGate } from '../approvals/approvals.js';
import { cancelJobsAbout, deleteJobsAbout, type JobsAbout } from '../shared/jobs-about.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import { deleteRuns } from '../stored/run-list.js';
import { readSources } from '../stored/stored-indices.js';
import { createDefinitionRequest } from './admitted-definition.js';

export interface IndexRemovalDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobsAbout;
  readonly approvals: ApprovalGate;
}

/** Creates the function that deletes an index, its optimised children and everything that was computed from them. */
export function createIndexRemoval({ documents, jobs, approvals }: IndexRemovalDependencies) {
  return async (
    indexId: string,
    ifMatch: Precondition | undefined,
    authorship?: Authorship,
  ): Promise<IndexDeletion> => {
    await requireStored(documents, indexId);
    // A refused request must not cancel any jobs.
    await assertPrecondition(documents, 'index', indexId, ifMatch);
    const cancelJobs = async (foresee: Admission['foresee']): Promise<void> => {
      const family = await listFamily(documents, indexId, null);
      for (const { id } of family) await foresee(documents, await createDefinitionRequest(documents, id, null));
      await cancelJobsAbout(jobs, collectSubjects(family));
    };
    const deleteFamily = async (tx: DocumentTransaction, admit: Admission['admit']) => {
      await requireStored(tx, indexId);
      await assertPrecondition(tx, 'index', indexId, ifMatch);
      const family = await listFamily(tx, indexId, null);
      for (const { id } of family) await admit(tx, await createDefinitionRequest(tx, id, null));
      const removedJobs = await deleteJobsAbout(tx, jobs, collectSubjects(family));
      const deletedIndices: IndexDeletion['deleted'] = [];
      for (const member of family) {
        const forgottenJobs = removedJobs.get(member.id) ?? 0;
        deletedIndices.push(await deleteMember(tx, member, { jobsForgotten: forgottenJobs, all: authorship?.purges }));
      }
      return { deleted: deletedIndices };
    };
    return approvals.guarded(authorship, async ({ admit, foresee }) => {
      await cancelJobs(foresee);
      return documents.transaction((tx) => deleteFamily(tx, admit), { by: authorship });
    });
  };
}

async function requireStored(reader: Pick<DocumentStore | DocumentTransaction, 'get'>, indexId: string): Promise<void> {
  if ((await reader.get('index', indexId)) === undefined)
    throw new Refusal('INDEX_NOT_FOUND', `No index is stored under the id ${indexId}.`, { index_id: indexId });
}

interface Member {
  readonly id: string;
  readonly derivedFrom: string | null;
}

const collectSubjects = (family: readonly Member[]) => ({ of: 'index', ids: family.map(({ id }) => id) }) as const;

/**
 * Returns an index and all indices that cannot exist without it: those derived from it, and overlays without another
 * stored source. Each index is followed by these, in the order of their ids.
 */
async function listFamily(
  reader: DocumentStore | DocumentTransaction,
  id: string,
  derivedFrom: string | null,
): Promise<Member[]> {
  const { stored, sourcesOf } = await readSources(reader);
  const family = new Map<string, Member>();
  const isGone = (source: string): boolean => family.has(source) || !stored.has(source);
  const addMember = (member: Member): void => {
    family.set(member.id, member);
    for (const [child, sources] of sourcesOf)
      // a blend with several sources in the family follows the last of them
      if (!family.has(child) && sources.includes(member.id) && sources.every(isGone))
        addMember({ id: child, derivedFrom: member.id });
  };
  addMember({ id, derivedFrom });
  return [...family.values()];
}

/**
 * Removes one index: its definition and its runs. Published runs are removed only on request. A file of a run is
 * removed when no document refers to it any more.
 */
async function deleteMember(
  tx: DocumentTransaction,
  { id, derivedFrom }: Member,
  { jobsForgotten, all }: { readonly jobsForgotten: number; readonly all: boolean | undefined },
): Promise<IndexDeletion['deleted'][number]> {
  await tx.delete('index', id);
  const forgottenRuns = await deleteRuns(tx, id, { all });
  return {
    index_id: id,
    backtest_record_deleted: forgottenRuns > 0,
    backtest_results_deleted: forgottenRuns + jobsForgotten,
    derived_from: derivedFrom,
  };
}
