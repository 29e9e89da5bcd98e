import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findNewestChange } from '#cli/compose/package-files.js';

test('a folder has the change time of its newest file at any depth; an absent one has none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'divisor-newest-'));
  try {
    const files = { 'api.js': 1000, 'routes/old.js': 500, 'routes/deep/new.js': 3000 };
    await mkdir(join(folder, 'routes/deep'), { recursive: true });
    for (const [name, seconds] of Object.entries(files)) {
      await writeFile(join(folder, name), '');
      await utimes(join(folder, name), seconds, seconds);
    }
    expect(findNewestChange(folder)).toBe(3_000_000);
    expect(findNewestChange(join(folder, 'api.js'))).toBe(1_000_000);
    expect(findNewestChange(join(folder, 'missing'))).toBe(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
