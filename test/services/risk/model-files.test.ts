import { expect, test } from 'vitest';
import type { RiskModelDocument } from '#domain/risk/risk-models.js';
import { type DatedModel, selectIntactModels } from '#services/shared/model-documents.js';
import type { DatedArtifact } from '#store/port.js';

const createFile = (name: string) => ({ name, bytes: 8, sha256: '00' });

test('files of models are compared with the times of their documents, all at once', async () => {
  const checks: (readonly DatedArtifact[])[] = [];
  const artifacts = {
    damaged: async (files: readonly DatedArtifact[]) => {
      checks.push(files);
      return new Set(['b']);
    },
  };
  const models: DatedModel<Pick<RiskModelDocument, 'covariance' | 'factors'>>[] = [
    { model: { covariance: createFile('a') }, writtenAt: 1000 },
    { model: { covariance: createFile('b') }, writtenAt: 2000 },
    { model: { covariance: createFile('c'), factors: createFile('d') }, writtenAt: 3000 },
  ];
  expect(await selectIntactModels(artifacts, models)).toEqual([models[0]!.model, models[2]!.model]);
  expect(checks.map((files) => files.map(({ ref, madeAt }) => [ref.name, madeAt]))).toEqual([
    [
      ['a', 1000],
      ['b', 2000],
      ['c', 3000],
      ['d', 3000],
    ],
  ]);
});
