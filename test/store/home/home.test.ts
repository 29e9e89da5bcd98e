import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, utimesSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { lockHome, openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { isAlive, readProcessIdentity, type ProcessIdentity } from '#store/home/process-identity.js';
import { openTemporaryFolders } from '../temporary-folder.js';

const createFolder = openTemporaryFolders();
/** Time in ms for which a lock is watched if nothing is known about its holder. */
const WATCH_MS = 100;
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Starts another process that holds the home. Resolves when the process holds it. */
async function startOtherHolder(home: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('home-holder.js', import.meta.url)), home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout!, 'data');
  return child;
}

async function leaveLock(home: string, identity: object): Promise<void> {
  await writeFile(join(home, 'lock'), JSON.stringify(identity));
}

test('a home is created with its folders, for its user only', async () => {
  const path = join(await createFolder(), 'deep', 'home');
  const home = await openHome(path);
  expect((await readdir(path)).sort()).toEqual(['artifacts', 'format', 'lock', 'scratch', 'stores']);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  await home.close();
  expect(await readdir(path)).not.toContain('lock');
});

test('opening a home removes access of other users, also to its documents', async () => {
  const path = await createFolder();
  await mkdir(join(path, 'documents'), { recursive: true });
  for (const folder of [path, join(path, 'documents')]) await chmod(folder, 0o755);
  const home = await openHome(path);
  const store = await openStore({ home, onFailure: () => {} });
  try {
    const readMode = async (name: string) => ((await stat(join(path, name))).mode & 0o777).toString(8);
    const folders = ['.', 'documents', 'artifacts', 'stores', 'scratch'];
    expect(await Promise.all(folders.map(readMode))).toEqual(folders.map(() => '700'));
    const files = ['documents/data.mdb', 'documents/lock.mdb', 'format', 'lock'];
    expect(await Promise.all(files.map(readMode))).toEqual(files.map(() => '600'));
  } finally {
    await store.close();
    await home.close();
  }
});

test('a second process is refused with status 75 and the number of the first', async () => {
  const path = await createFolder();
  const holder = await startOtherHolder(path);
  await expect(openHome(path)).rejects.toMatchObject({
    exitStatus: 75,
    message: `The home ${path} is in use by process ${holder.pid}; one home serves one process.`,
  });
});

test('the same process is refused too', async () => {
  const path = await createFolder();
  const home = await openHome(path);
  await expect(openHome(path)).rejects.toMatchObject({ exitStatus: 75 });
  await home.close();
  await (await openHome(path)).close();
});

test('the home of a killed process is taken over', async () => {
  const path = await createFolder();
  const holder = await startOtherHolder(path);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  expect(await readdir(path)).toContain('lock');
  const home = await openHome(path);
  expect(JSON.parse(await readFile(join(path, 'lock'), 'utf8'))).toMatchObject({ pid: process.pid });
  await home.close();
});

test.runIf(existsSync('/proc/self/stat'))(
  'an ended process does not count as running, although it is not reaped',
  async () => {
    const path = await createFolder();
    const holder = await startOtherHolder(path);
    const identity = JSON.parse(readFileSync(join(path, 'lock'), 'utf8')) as ProcessIdentity;
    expect(isAlive(identity)).toBe(true);
    holder.kill('SIGKILL');
    // This process is the parent. It does not await anything here, so it cannot have reaped the child.
    const hasEnded = () => readFileSync(`/proc/${holder.pid}/stat`, 'utf8').includes(') Z ');
    for (let looks = 0; looks < 1e6 && !hasEnded(); looks++);
    expect(hasEnded()).toBe(true);
    expect(isAlive(identity)).toBe(false);
  },
);

test('a process with the number of an ended holder does not keep its home', async () => {
  const path = await createFolder();
  await leaveLock(path, { ...readProcessIdentity(), started: '1' });
  await (await openHome(path)).close();
});

test('a lock from another boot or container is taken over once no process updates it', async () => {
  const path = await createFolder();
  await leaveLock(path, { pid: 1, started: '100', world: 'another boot pid:[1]' });
  await (await lockHome(path, WATCH_MS)).release();
});

test('a lock from another container is respected while its holder touches it', async () => {
  const path = await createFolder();
  await leaveLock(path, { pid: 1, started: '100', world: 'another boot pid:[1]' });
  const touching = setInterval(() => utimesSync(join(path, 'lock'), new Date(), new Date()), 5);
  await expect(lockHome(path, WATCH_MS)).rejects.toMatchObject({ exitStatus: 75 });
  clearInterval(touching);
});

test('an unreadable lock is taken over once no process updates it', async () => {
  const path = await createFolder();
  await writeFile(join(path, 'lock'), '');
  await (await lockHome(path, WATCH_MS)).release();
});

test('of many processes that find a stale lock exactly one gets the home', async () => {
  const path = await createFolder();
  await leaveLock(path, { ...readProcessIdentity(), started: '1' });
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => tryToHold(path)));
  const winners = outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value === 'held');
  expect(winners).toHaveLength(1);
});

/** Starts a process on the home. @returns `held`, or `refused` if the process ended */
function tryToHold(home: string): Promise<'held' | 'refused'> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('home-holder.js', import.meta.url)), home], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  return new Promise((resolve) => {
    child.stdout!.once('data', () => resolve('held'));
    child.once('exit', () => resolve('refused'));
  });
}

test('a home of a newer format is refused with status 78 and released', async () => {
  const path = await createFolder();
  await writeFile(join(path, 'format'), '2\n');
  await expect(openHome(path)).rejects.toMatchObject({
    exitStatus: 78,
    message: 'The home has format 2; this engine reads formats up to 1.',
  });
  expect(await readdir(path)).not.toContain('lock');
});

test('a home that cannot be created is refused with status 78', async () => {
  const file = join(await createFolder(), 'file');
  await writeFile(file, '');
  await expect(openHome(join(file, 'home'))).rejects.toMatchObject({ exitStatus: 78 });
});

const hasProc = existsSync('/proc/self');
if (!hasProc) console.log('not tested: a home below /proc, for there is no /proc');

test.skipIf(!hasProc)('a home below /proc is refused with status 78 and the reason', async () => {
  await expect(openHome('/proc/nohome')).rejects.toMatchObject({
    exitStatus: 78,
    message: "The home /proc/nohome cannot be written: ENOENT: no such file or directory, mkdir '/proc/nohome'.",
  });
});
