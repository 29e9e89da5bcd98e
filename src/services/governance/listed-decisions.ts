import { listReferences } from '#domain/checks/validate-reference.js';
import type { Judgement } from '#domain/daily-plans/judgement-document.js';
import { ScheduleDocument } from '#domain/daily-plans/schedule-document.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { findIndex } from '../stored/stored-indices.js';
import { readJudgements } from './read-judgements.js';

/** Maximum number of decisions of a schedule that are searched, newest first. */
const SEARCHED_JUDGEMENTS_MAX = 1000;

/**
 * Returns the latest decisions about the days of an index. A waiver is included if it accepts findings of this index or
 * of one of its parents.
 */
export async function listDecisions(
  documents: DocumentStore,
  document: IndexDocument,
  limit: number,
): Promise<readonly Judgement[]> {
  const { id: indexId } = document;
  const family = await findFamily(documents, document);
  const judgements: Judgement[] = [];
  for (const scheduleId of await documents.ids('schedule')) {
    const storedDocument = await documents.get('schedule', scheduleId);
    const plan = parseStored(storedDocument, ScheduleDocument);
    if (plan === undefined || !plan.indices.includes(indexId)) continue;
    for await (const judgement of readJudgements(documents, scheduleId, SEARCHED_JUDGEMENTS_MAX)) {
      if (judgement.index_id !== null && !family.has(judgement.index_id)) continue;
      if (judgement.action === 'run' && judgement.reason === null) continue;
      const familyFindings = judgement.findings.filter(({ index_id: findingIndex }) => family.has(findingIndex));
      if (judgement.findings.length > 0 && familyFindings.length === 0) continue; // a waiver for findings of other indices
      judgements.push({ ...judgement, findings: familyFindings });
    }
  }
  return judgements.toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, limit);
}

/** Returns an index and all indices on which it depends. */
async function findFamily(documents: DocumentStore, document: IndexDocument): Promise<ReadonlySet<string>> {
  const familyIds = new Set([document.id]);
  const visitChild = async (child: IndexDocument): Promise<void> => {
    for (const id of listReferences(child)) {
      if (familyIds.has(id)) continue;
      familyIds.add(id);
      const parent = await findIndex(documents, id);
      if (parent !== undefined) await visitChild(parent);
    }
  };
  await visitChild(document);
  return familyIds;
}
