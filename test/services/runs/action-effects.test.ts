import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { formatActionKey } from '#services/stores/action-desk.js';
import { createActionEffects } from '#services/runs/views.js';

type Dependencies = Parameters<typeof createActionEffects>;

/** Creates effects over runs that all hold A: the index `I<k>` has weight k / 1000, and its run was made at second k. */
function createEffects(count: number) {
  const ids = Array.from({ length: count }, (_, k) => `I${k}`);
  const runs = ids.map((id, k) => ({ run_id: id, run_at: `2024-01-01T00:00:${String(k).padStart(2, '0')}` }));
  const requested: string[] = [];
  const views = {
    async show({ name }: { readonly name: string }) {
      requested.push(name);
      if (name === 'I7') throw new Refusal('RUN_NOT_FOUND', 'The run was deleted.');
      const action = { identifier: 'A', ex_date: '2024-05-02', weight_before: Number(name.slice(1)) / 1000 };
      return { bytes: new TextEncoder().encode(JSON.stringify({ actions: [action, action] })) };
    },
  } as unknown as Dependencies[0];
  const documents = {
    ids: async () => ids,
    list: async () => ({ documents: runs }),
  } as unknown as Dependencies[2];
  return { effects: createActionEffects(views, {} as Dependencies[1], documents), requested };
}

const DATES = { from: '2024-05-01', to: '2024-05-31' };

test('a list reads the newest 50 runs, and states the number of the others', async () => {
  const { effects, requested } = createEffects(53);
  const { byAction, unread } = await effects.list(DATES, new AbortController().signal);
  expect(requested).toHaveLength(50);
  expect(['I0', 'I1', 'I2'].filter((id) => requested.includes(id))).toEqual([]);
  expect(unread).toBe(3);
  expect([...byAction.keys()]).toEqual([formatActionKey('A', '2024-05-02')]);
});

test('the indices of an action are sorted by weight, each once, without those whose runs are unreadable', async () => {
  const { effects } = createEffects(9);
  const { byAction } = await effects.list(DATES, new AbortController().signal);
  const indices = byAction.get(formatActionKey('A', '2024-05-02'))!;
  expect(indices.map(({ index_id: id }) => id)).toEqual(['I8', 'I6', 'I5', 'I4', 'I3', 'I2', 'I1', 'I0']);
  expect(indices[0]).toEqual({ index_id: 'I8', weight: 0.008 });
});
