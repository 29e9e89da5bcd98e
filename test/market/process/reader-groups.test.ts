import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openReaderGroups } from '#market/serve/process-pool.js';
import { startService } from '../../cli/process.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { listReaders } from './reading-processes.js';

const LIMIT = 700 * 2 ** 20;

/** Creates a folder with the files of a delegated control group. Writing to these files has no effect. */
async function groupFolder(controllers = 'memory pids'): Promise<string> {
  const folder = join(await createTemporaryFolder(), 'unit');
  await mkdir(folder);
  await writeFile(join(folder, 'cgroup.subtree_control'), controllers);
  return folder;
}

test.skipIf(process.platform !== 'linux')('each reading process is in a separate group with the limit', async () => {
  const [home, root, group] = [await createTemporaryFolder(), await createTemporaryFolder(), await groupFolder()];
  await writeFile(join(root, 'market.csv'), 'identifier,date,CLOSE\nA,2024-01-02,10\n');
  const flags = `--data-roots ${root} --reader-memory-mb 700 --reader-cgroup ${group} --workers 1 --warm-up off --drain-ms 0`;
  const service = await startService(join(home, 'home'), flags.split(' '));
  try {
    const body = JSON.stringify({ location: root });
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    expect((await fetch(`${service.url}/data/inspect`, request)).status).toBe(200);
    const names = (await readdir(group)).filter((name) => name.startsWith('divisor-reader-'));
    const read = (name: string, file: string) => readFile(join(group, name, file), 'utf8');
    const enteredProcesses = await Promise.all(names.map(async (name) => Number(await read(name, 'cgroup.procs'))));
    const readers = listReaders(service.child.pid!);
    expect(readers.length).toBeGreaterThan(0);
    for (const pid of readers) {
      expect(enteredProcesses).toContain(pid);
      expect(await read(names[enteredProcesses.indexOf(pid)]!, 'memory.max')).toBe(String(LIMIT));
      expect(await readFile(`/proc/${pid}/limits`, 'utf8')).toMatch(new RegExp(`^Max data size +${LIMIT} `, 'm'));
    }
  } finally {
    service.child.kill('SIGTERM');
    await service.ended;
  }
});

test.skipIf(process.platform !== 'linux')('a group that cannot be used is reported, and data is read', async () => {
  const [home, root] = [await createTemporaryFolder(), await createTemporaryFolder()];
  await writeFile(join(root, 'market.csv'), 'identifier,date,CLOSE\nA,2024-01-02,10\n');
  const flags = `--data-roots ${root} --reader-cgroup ${join(root, 'absent')} --workers 1 --warm-up off --drain-ms 0`;
  const service = await startService(join(home, 'home'), flags.split(' '));
  try {
    const body = JSON.stringify({ location: root });
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    expect((await fetch(`${service.url}/data/inspect`, request)).status).toBe(200);
    expect(service.err()).toMatch(/"limit":"cgroup".*ENOENT.*the memory limit of reading processes is not enforced/);
  } finally {
    service.child.kill('SIGTERM');
    await service.ended;
  }
});

test('memory is made a controller of the groups where it is none yet', async () => {
  const folder = await groupFolder('pids');
  openReaderGroups(folder, '/bin/sh');
  expect(await readFile(join(folder, 'cgroup.subtree_control'), 'utf8')).toBe('+memory');
});
