import { createHash } from 'node:crypto';
import { cpSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolders } from '../store/temporary-folder.js';
import { interceptFiles, watchCalls } from './counted-calls.js';
import { documentsOf, EFFECTS, isSettled, leftovers, openSubject, type Effect, type Subject } from './effects.js';
import { IS_SOAK } from '../soak.js';

/**
 * Every effect on several documents and files is cut at each of its calls to the disk: once by the end of the process, once by a
 * fault of the disk. Whatever the call, all of it has happened or nothing, nothing names what is not there, and after a restart
 * nothing is left over and a job has come to its end. `SOAK=1` goes through every call of the longest of them too, otherwise some of its later ones.
 */
/** Effects of so few calls are cut at each of them in every run. */
const SHORT_MAX = 8;
/** Up to this call each is refused once, later ones in steps. */
const FIRST_REFUSED = 2;
const LATER_STEP = 4;
const CALLS_MAX = 200;

const newFolder = temporaryFolders();
let restore: () => void;
beforeAll(() => {
  restore = interceptFiles();
});
afterAll(() => restore());

/** What a process that is killed now leaves behind. */
function copyHome(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    filter: (path) => !lstatSync(path).isSocket() && !path.endsWith('/lock') && !path.endsWith('lock.mdb'),
  });
}

/** What a copy of a home holds: a restart on the same makes the same of it. */
function digestOf(home: string): string {
  const hash = createHash('sha256');
  const entries = readdirSync(home, { recursive: true, withFileTypes: true });
  for (const path of entries.map((entry) => join(entry.parentPath, entry.name)).toSorted())
    hash.update(`${relative(home, path)}\0`).update(lstatSync(path).isFile() ? readFileSync(path) : '');
  return hash.digest('hex');
}

/** Whether the copy before a call is also started on. */
const isTried = (call: number, calls: number): boolean =>
  IS_SOAK || calls <= SHORT_MAX || call % 6 === 0 || call >= calls - 1;

/** Makes a home on which an effect can be performed. */
async function prepare(home: string, effect: Effect): Promise<void> {
  const subject = await openSubject(home);
  await effect.prepare(subject);
  await subject.close();
  expect(effect.hasHappened(await documentsOf(home))).toBe(false);
}

/** Starts on a home as a crash or fault left it, brings its work to an end, and looks at what there is then. */
async function afterRestart(
  home: string,
  { jobId, hasHappened, isOfDocuments }: Effect,
): Promise<{ readonly happened: boolean; readonly left: readonly string[] }> {
  if (isOfDocuments === true) return { happened: hasHappened(await documentsOf(home)), left: await leftovers(home) };
  const subject: Subject = await openSubject(home);
  await isSettled(subject);
  if (jobId !== undefined) await subject.ended(jobId);
  await subject.close();
  return { happened: hasHappened(await documentsOf(home)), left: await leftovers(home) };
}

describe.each(EFFECTS.map((effect) => [effect.name, effect] as const))('%s', (_, effect) => {
  let base: string;
  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'divisor-'));
    await prepare(base, effect);
  });
  afterAll(() => rm(base, { recursive: true, force: true }));

  test('is whole or has not happened, at whichever call the process ends', { timeout: 240_000 }, async () => {
    const copies = await newFolder();
    const home = join(copies, 'home');
    copyHome(base, home);
    const calls: string[] = [];
    const subject = await openSubject(home);
    await isSettled(subject);
    watchCalls(home, (call) => {
      if (calls.length < CALLS_MAX) copyHome(home, join(copies, String(calls.length)));
      calls.push(call);
    });
    const isAcknowledged = await effect.perform(subject);
    watchCalls(home, undefined);
    copyHome(home, join(copies, String(calls.length)));
    await subject.close();
    expect(isAcknowledged).toBe(true);
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.length).toBeLessThan(CALLS_MAX);

    const seen: boolean[] = [];
    let before = '';
    for (let call = 0; call <= calls.length; call++) {
      const copy = join(copies, String(call));
      const digest = digestOf(copy);
      // Nothing has reached the disk since the call before.
      if (digest === before) continue;
      before = digest;
      const place = `before call ${call} of ${calls.length}, ${calls[call] ?? 'the end'}`;
      seen.push(effect.hasHappened(await documentsOf(copy)));
      if (!isTried(call, calls.length)) continue;
      const { happened, left } = await afterRestart(copy, effect);
      expect(happened || !seen.at(-1)!, place).toBe(true);
      expect(left, place).toEqual([]);
      // A job that was accepted comes to its end after a restart; anything else is as it was.
      if (effect.jobId === undefined) expect(happened, place).toBe(seen.at(-1));
    }
    console.log(`${effect.name}: ${calls.length} calls, ${calls.join(' ')}`);
    expect([seen[0], seen.at(-1), seen.toSorted()]).toEqual([false, true, seen]);
  });

  test('is whole or has not happened, whichever call the disk refuses', { timeout: 600_000 }, async () => {
    const folder = await newFolder();
    let isReached = true;
    let refusals = 0;
    for (let refused = 1; isReached; refused += refused < FIRST_REFUSED || IS_SOAK ? 1 : LATER_STEP) {
      const home = join(folder, String(refused));
      copyHome(base, home);
      const subject = await openSubject(home);
      await isSettled(subject);
      let count = 0;
      let failed = '';
      watchCalls(home, (call) => {
        count++;
        if (count !== refused) return;
        failed = call;
        throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
      });
      const isAcknowledged = await effect.perform(subject);
      watchCalls(home, undefined);
      isReached = failed !== '';
      const place = `call ${refused}, ${failed}`;
      const happened = effect.hasHappened(await documentsOf(home));
      // A client that was told so can rely on it; one that was told of a failure may find it done when the disk failed after the commit.
      if (isAcknowledged) expect(happened, place).toBe(true);
      await subject.close();
      const after = await afterRestart(home, effect);
      if (happened) expect(after.happened, place).toBe(true);
      expect(after.left, place).toEqual([]);
      if (isReached) refusals++;
    }
    expect(refusals).toBeGreaterThan(0);
  });
});
