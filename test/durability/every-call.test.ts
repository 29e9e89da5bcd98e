import { createHash } from 'node:crypto';
import { cpSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { interceptFiles, watchCalls } from './counted-calls.js';
import { readDocuments, EFFECTS, isSettled, readLeftovers, openSubject, type Effect, type Subject } from './effects.js';
import { IS_SOAK } from '../soak.js';

/**
 * Maximum number of disk calls of an effect. Every effect on several documents and files is interrupted at its disk
 * calls, once because the process ends and once because of a disk error. At each call, the effect is complete or
 * absent, and no reference is dangling. After a restart no orphan remains and the job has ended.
 *
 * Every test checks the state before each call. But it starts a service on this state, and refuses the call, only for
 * the first call of each kind. With `SOAK=1` it does so for every call.
 */
const CALLS_MAX = 200;

let restore: () => void;
beforeAll(() => {
  restore = interceptFiles();
});
afterAll(() => restore());

/** Copies the files that would remain if the process were killed now. */
function copyHome(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    filter: (path) => !lstatSync(path).isSocket() && !path.endsWith('/lock') && !path.endsWith('lock.mdb'),
  });
}

/** Returns a hash of a copied home. If two copies have equal hashes, they have equal states after a restart. */
function computeDigest(home: string): string {
  const hash = createHash('sha256');
  const entries = readdirSync(home, { recursive: true, withFileTypes: true });
  for (const path of entries.map((entry) => join(entry.parentPath, entry.name)).toSorted())
    hash.update(`${relative(home, path)}\0`).update(lstatSync(path).isFile() ? readFileSync(path) : '');
  return hash.digest('hex');
}

/** Returns true for the first call of each kind. In the soak it returns true for every call. */
const isTested = (calls: readonly string[], call: number): boolean => IS_SOAK || calls.indexOf(calls[call]!) === call;

/** Creates a home in the initial state of an effect. */
async function prepare(home: string, effect: Effect): Promise<void> {
  const subject = await openSubject(home);
  await effect.prepare(subject);
  await subject.close();
  expect(effect.hasHappened(await readDocuments(home))).toBe(false);
}

/**
 * Starts a service on a home after a crash or disk error and waits until its work ends. Returns the resulting state.
 */
async function checkAfterRestart(
  home: string,
  { jobId, hasHappened, isOfDocuments }: Effect,
): Promise<{ readonly happened: boolean; readonly left: readonly string[] }> {
  if (isOfDocuments === true)
    return { happened: hasHappened(await readDocuments(home)), left: await readLeftovers(home) };
  const subject: Subject = await openSubject(home);
  await isSettled(subject);
  if (jobId !== undefined) await subject.ended(jobId);
  await subject.close();
  return { happened: hasHappened(await readDocuments(home)), left: await readLeftovers(home) };
}

describe.each(EFFECTS.map((effect) => [effect.name, effect] as const))('%s', (_, effect) => {
  let folder: string;
  let base: string;
  /**
   * Disk calls of the effect without errors. Numbered folders contain the home before each call, and after the last
   * call.
   */
  const calls: string[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'divisor-'));
    base = join(folder, 'base');
    await prepare(base, effect);
    const home = join(folder, 'home');
    copyHome(base, home);
    const subject = await openSubject(home);
    await isSettled(subject);
    watchCalls(home, (call) => {
      if (calls.length < CALLS_MAX) copyHome(home, join(folder, String(calls.length)));
      calls.push(call);
    });
    const isAcknowledged = await effect.perform(subject);
    watchCalls(home, undefined);
    copyHome(home, join(folder, String(calls.length)));
    await subject.close();
    expect(isAcknowledged).toBe(true);
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.length).toBeLessThan(CALLS_MAX);
    console.log(`${effect.name}: ${calls.length} calls, ${calls.join(' ')}`);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('is complete or absent, at whichever call the process ends', { timeout: 240_000 }, async () => {
    const outcomes: boolean[] = [];
    let before = '';
    let isStarted = false;
    for (let call = 0; call <= calls.length; call++) {
      const copyFolder = join(folder, String(call));
      const digest = computeDigest(copyFolder);
      const isNew = digest !== before;
      before = digest;
      const location = `before call ${call} of ${calls.length}, ${calls[call] ?? 'the end'}`;
      if (isNew) {
        outcomes.push(effect.hasHappened(await readDocuments(copyFolder)));
        isStarted = false;
      }
      // Services that start on equal homes give equal results. So one start per home is enough.
      if (isStarted || !(isTested(calls, call) || call === calls.length)) continue;
      isStarted = true;
      const { happened, left } = await checkAfterRestart(copyFolder, effect);
      expect(happened || !outcomes.at(-1)!, location).toBe(true);
      expect(left, location).toEqual([]);
      // After a restart, an accepted job ends. Nothing else changes.
      if (effect.jobId === undefined) expect(happened, location).toBe(outcomes.at(-1));
    }
    expect([outcomes[0], outcomes.at(-1), outcomes.toSorted()]).toEqual([false, true, outcomes]);
  });

  test('is complete or absent, whichever call the disk refuses', { timeout: 600_000 }, async () => {
    let refusals = 0;
    for (const refusedCall of calls.keys()) {
      if (!isTested(calls, refusedCall)) continue;
      const home = join(folder, `refused-${refusedCall}`);
      copyHome(base, home);
      const subject = await openSubject(home);
      await isSettled(subject);
      let count = 0;
      let failedCall = '';
      watchCalls(home, (call) => {
        if (count++ !== refusedCall) return;
        failedCall = call;
        throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
      });
      const isAcknowledged = await effect.perform(subject);
      watchCalls(home, undefined);
      const description = `call ${refusedCall}, ${failedCall}`;
      const happened = effect.hasHappened(await readDocuments(home));
      // If success was reported, the effect must be durable. If failure was reported, the effect may exist, because the
      // disk may have failed after the commit.
      if (isAcknowledged) expect(happened, description).toBe(true);
      await subject.close();
      const after = await checkAfterRestart(home, effect);
      if (happened) expect(after.happened, description).toBe(true);
      expect(after.left, description).toEqual([]);
      if (failedCall !== '') refusals++;
    }
    expect(refusals).toBeGreaterThan(0);
  });
});
