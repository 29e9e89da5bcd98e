import { expect, test } from 'vitest';
import { runPreparation } from '#cli/compose/compose.js';

test('a failed step is logged with its name and cause, and later steps run, also those that a step lists', async () => {
  const calls: string[] = [];
  const lines: unknown[] = [];
  const log = { error: (line: unknown) => void lines.push(line) };
  const defect = new Error('invalid template');
  const unreadable = new Error('unreadable file');
  const refuse = (cause: Error) => () => {
    throw cause;
  };
  await runPreparation(
    [
      { name: 'jobs', run: () => Promise.reject(defect) },
      {
        name: 'templates',
        run: () =>
          runPreparation(
            [
              { name: 'template A', run: refuse(unreadable) },
              { name: 'template B', run: () => calls.push('template B') },
            ],
            log,
          ),
      },
      { name: 'collection', run: () => calls.push('collection') },
    ],
    log,
  );
  expect(calls).toEqual(['template B', 'collection']);
  expect(lines).toEqual([
    { err: defect, step: 'jobs' },
    { err: unreadable, step: 'template A' },
  ]);
});
