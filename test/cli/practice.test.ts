import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPracticeSettings, runPracticeJobs } from '#cli/commands/serve.js';
import { findMemoryLimit, limitMemory } from '#kernels/memory/paged-memory.js';

test('practice jobs succeed, leave no file, and leave the memory limit of the process unchanged', async () => {
  const home = await mkdtemp(join(tmpdir(), 'divisor-practice-'));
  const limit = { panelBytes: 123_456_789, folder: home };
  const restoreLimit = limitMemory(limit);
  try {
    await runPracticeJobs({ home, numerics: 'auto' }); // It throws if a job fails.
    expect(findMemoryLimit()).toEqual(limit);
    expect(await readdir(join(home, 'scratch'))).toEqual([]);
  } finally {
    restoreLimit();
    await rm(home, { recursive: true });
  }
});

test('practice jobs run on the engine of the service, in a folder of its home', () => {
  const settings = createPracticeSettings({ home: '/srv/divisor', numerics: 'wasm' });
  expect([settings.numerics, settings.home]).toEqual(['wasm', '/srv/divisor/scratch/practice']);
});
