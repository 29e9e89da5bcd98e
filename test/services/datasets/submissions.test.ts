import { expect, test } from 'vitest';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { GENERATOR } from '#market/synthetic/spec.js';
import type { DatasetActivity } from '#services/datasets/activity.js';
import { createDatasetSubmissions, type DatasetSubmissionsDependencies } from '#services/datasets/submissions.js';

const AT = '2024-01-05T00:00:00.000Z';

const DOCUMENT: DatasetDocument = {
  store_id: 'old',
  name: 'old',
  kind: 'synthetic',
  managed: true,
  active: false,
  writing: false,
  location: '/data/old',
  source: 'synthetic',
  tables: {},
  mapping: null,
  derived_actions: null,
  taken_at_start: null,
  adjustment: 'none',
  currency: null,
  created_at: AT,
  last_loaded_at: AT,
  last_refreshed_at: null,
  identifiers: 1,
  start: '2024-01-02',
  end: '2024-01-02',
  size_bytes: 1,
  content_hash: null,
  rows: { market: 1 },
  files: [],
  error: null,
  findings: [],
  synthetic: { generator: GENERATOR - 1, request: {} },
};

const refusalOf = async (document: DatasetDocument) => {
  const activity: Partial<DatasetActivity> = {
    requireKnown: async () => ({ document, etag: '"x"' }),
    assertIdle: async () => {},
    isServed: () => true,
  };
  const { refresh } = createDatasetSubmissions({ activity, kinds: {} } as DatasetSubmissionsDependencies); // it is refused before anything else is asked
  return refresh('old', { until: null, full: false }, null).catch((refusal: unknown) => refusal);
};

test('synthetic data of an older generator is not extended, and says both versions', async () => {
  const refusal = await refusalOf(DOCUMENT);
  expect(refusal).toMatchObject({ code: 'NOTHING_TO_REFRESH' });
  expect((refusal as Error).message).toContain(
    `version ${GENERATOR - 1} of the generator; this build has version ${GENERATOR}`,
  );
});

test('a folder whose source was taken away is told how it gets one', async () => {
  const refusal = await refusalOf({ ...DOCUMENT, kind: 'folder', synthetic: null, source: null });
  expect(refusal).toMatchObject({ code: 'NOTHING_TO_REFRESH' });
  expect((refusal as Error).message).toContain('PATCH of its source');
});
