import { expect, test } from 'vitest';
import type { DatasetDocument } from '#domain/definition/datasets.js';
import { GENERATOR } from '#market/synthetic/factors.js';
import type { DatasetActivity } from '#services/stores/loading.js';
import { createDatasetSubmissions, type DatasetJobs } from '#services/stores/jobs.js';
import type { StoreWork } from '#services/stores/serving.js';
import { createTestContext } from '../context.js';
import { createDatasetDocument } from './dataset-documents.js';

const DOCUMENT = createDatasetDocument('old', {
  kind: 'synthetic',
  managed: true,
  source: 'synthetic',
  synthetic: { generator: GENERATOR - 1, request: {} },
});

const catchRefusal = async (document: DatasetDocument) => {
  const activity: Partial<DatasetActivity> = {
    requireKnown: async () => ({ document, etag: '"x"' }),
    assertIdle: async () => {},
    isServed: () => true,
  };
  // The submission is refused before other members are used.
  const { refresh } = createDatasetSubmissions(createTestContext<StoreWork>({ activity }), {} as DatasetJobs);
  return refresh('old', { until: null, full: false, dry_run: false, load: false, fail_on: [] }, null).catch(
    (refusal: unknown) => refusal,
  );
};

test('synthetic data of an older generator is not extended, and the refusal states both versions', async () => {
  const refusal = await catchRefusal(DOCUMENT);
  expect(refusal).toMatchObject({ code: 'NOTHING_TO_REFRESH' });
  expect((refusal as Error).message).toContain(
    `version ${GENERATOR - 1} of the generator; this build has version ${GENERATOR}`,
  );
});

test('a folder without a source reports how to set one', async () => {
  const refusal = await catchRefusal({ ...DOCUMENT, kind: 'folder', synthetic: null, source: null });
  expect(refusal).toMatchObject({ code: 'NOTHING_TO_REFRESH' });
  expect((refusal as Error).message).toContain('PATCH of its source');
});
