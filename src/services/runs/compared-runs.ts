import type { Finding } from '#domain/refusals/findings.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { RequestedRun } from '../stored/run-documents.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';

/** Checks that a comparison has two sides: two runs, or a run and a benchmark. @throws Refusal VALIDATION_FAILED */
export function assertComparable(runIds: readonly string[], benchmark: string | null): void {
  if (runIds.length >= 2 || benchmark !== null) return;
  const message = `ids has ${runIds.length} id; 2 to ${LIMITS.MAX_COMPARE_IDS} are accepted, or 1 with a benchmark.`;
  throw refuseWithFindings('query', [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: 'ids' }]);
}

/** Parses the name of a run. An id means the newest run, and ID@RUN means one run. */
export function findComparedRun(name: string): RequestedRun {
  const [subject = '', id] = name.split('@');
  return { subject, id };
}

/** Returns a finding if the runs use different market contents. Their prices may then differ as well. */
export function listContentFindings(runs: readonly RunDocument[]): Finding[] {
  const [first, ...others] = runs;
  const other = others.find(({ store_content_hash: hash }) => hash !== first!.store_content_hash);
  if (other === undefined) return [];
  const { store_id: firstStore } = first!;
  const { store_id: otherStore } = other;
  const formatData = firstStore === otherStore || !firstStore || !otherStore ? formatContent : formatStore;
  const message = `The runs use different data: ${first!.run_id} uses ${formatData(first!)}, and ${other.run_id} uses ${formatData(other)}.`;
  return [{ severity: 'warning', code: 'DIFFERENT_DATA', path: 'ids', message }];
}

/** Number of hash digits that identify a content in messages. */
const HASH_DIGITS = 12;

const formatStore = ({ store_id: storeId }: RunDocument): string => `the data store ${storeId}`;

function formatContent({ store_id: storeId, store_content_hash: hash }: RunDocument): string {
  const content = `the content ${hash.slice(0, HASH_DIGITS)}`;
  return storeId === undefined ? content : `${content} of the data store ${storeId}`;
}
