import { expect, test } from 'vitest';
import type { PublicationEntry } from '#domain/definition/publication.js';
import { createPublishPerformer, type ItemResult } from '#services/daily-plans/steps.js';

const DATE = '2026-11-24';
const before = { state: 'done', message: '1 closes published.', at: '2026-11-24T23:31:00', detail: { run_id: 'old' } };

/**
 * Repeats the step on a day that has already published its close. Returns the result of the step. @param entries log of
 * the session
 */
async function repeatPublication(entries: readonly Partial<PublicationEntry>[]): Promise<ItemResult | undefined> {
  let result: ItemResult | undefined;
  const publications = {
    publish: async () => ({ published: 0, restated: 0, run_id: 'new', head: 'h', through: DATE, error: null }),
    entries: async () =>
      (async function* () {
        yield entries;
      })(),
  };
  const perform = createPublishPerformer({ publications } as never);
  await perform({
    spec: { allow_partial: false, errors: null },
    day: () => ({ date: DATE }),
    getAncestors: () => new Set(),
    waves: [['CORE']],
    isOpen: () => true,
    item: () => before,
    put: async (_key: string, _id: string, put: ItemResult) => void (result = put),
    signal: new AbortController().signal,
  } as never);
  return result;
}

test('a repeated day keeps the run that it published', async () => {
  expect(await repeatPublication([{ kind: 'close', at: '2026-11-24T23:30:59' }])).toEqual(before);
});

test('a repeated day whose close was restated later has the run with the restated figures', async () => {
  const entries = [
    { kind: 'close', at: '2026-11-24T23:30:59' },
    { kind: 'restatement', at: '2026-11-25T23:31:00' },
  ] as const;
  expect(await repeatPublication(entries)).toMatchObject({ state: 'done', detail: { run_id: 'new' } });
});
