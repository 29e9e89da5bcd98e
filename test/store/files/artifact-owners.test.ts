import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { createArtifactName, listArtifactNames } from '#store/artifacts/artifact.js';

const [first, second] = [createArtifactName(), createArtifactName()];

describe('names of artifacts in a stored value', () => {
  test('are found once each at any position, also in text within text', () => {
    const body = JSON.stringify({ a: first, b: [second, first], c: JSON.stringify({ name: second }) });
    expect(listArtifactNames(Buffer.from(body))).toEqual([first, second]);
    expect(listArtifactNames(Buffer.from(`"${first}`.repeat(2) + `"${second}"`))).toEqual([first, second]);
  });

  test.each(['{}', '"a.art"', `"${first.slice(1)}"`, `"${first.toUpperCase()}"`, '.art"'])('%s has none', (text) => {
    expect(listArtifactNames(Buffer.from(text))).toEqual([]);
  });
});
