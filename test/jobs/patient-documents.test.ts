import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { createPatientDocuments } from '#jobs/job-system.js';
import type { DocumentStore } from '#store/port.js';
import { createTestClock } from './test-clock.js';

const STORE_UNAVAILABLE = new Refusal('STORE_UNAVAILABLE', 'The database cannot be reached.');

function openPatient() {
  const state = { isAway: true, isOver: false, failure: STORE_UNAVAILABLE as Error };
  const answer = async <T>(value: T): Promise<T> => {
    if (state.isAway) throw state.failure;
    return value;
  };
  const store = {
    get: (kind: string, id: string) => answer(`${kind}/${id}`),
    transaction: () => answer('written'),
  } as unknown as DocumentStore;
  const { clock, pass } = createTestClock();
  return { state, pass, documents: createPatientDocuments({ documents: store, clock, isOver: () => state.isOver }) };
}

test('a read waits while the database is unavailable, however long', async () => {
  const { state, pass, documents } = openPatient();
  const read = documents.get('run', 'A');
  await pass(60_000);
  state.isAway = false;
  await pass(1000);
  await expect(read).resolves.toBe('run/A');
});

test('a write, another failure, and an abandoned read are refused', async () => {
  const { state, pass, documents } = openPatient();
  await expect(documents.transaction(async () => {})).rejects.toBe(STORE_UNAVAILABLE);
  const read = documents.get('run', 'A');
  const refusal = expect(read).rejects.toBe(STORE_UNAVAILABLE);
  await pass(1000);
  state.isOver = true;
  await pass(1000);
  await refusal;
  state.isOver = false;
  state.failure = new Refusal('DOCUMENT_UNREADABLE', 'damaged');
  await expect(documents.get('run', 'A')).rejects.toBe(state.failure);
});
