import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { practiseJob } from '#cli/practice.js';
import { findMemoryLimit, limitMemory } from '#kernels/memory/paged-memory.js';

test('practice jobs succeed, leave no file, and leave the memory limit of the process unchanged', async () => {
  const home = await mkdtemp(join(tmpdir(), 'divisor-practice-'));
  const limit = { panelBytes: 123_456_789, folder: home };
  const restoreLimit = limitMemory(limit);
  try {
    await practiseJob(home); // It throws if a job fails.
    expect(findMemoryLimit()).toEqual(limit);
    expect(await readdir(join(home, 'scratch'))).toEqual([]);
  } finally {
    restoreLimit();
    await rm(home, { recursive: true });
  }
});
