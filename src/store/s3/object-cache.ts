import { createHash, randomBytes } from 'node:crypto';
import { link, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { damagedArtifact } from '../access/artifact-damage.js';
import { sha256OfFile } from '../files/file-digest.js';
import { makeFolder } from '../files/make-folder.js';
import type { OpenObject } from './s3-client.js';

/**
 * Files of objects in a folder of this machine, which its processes share. A file is there under its name only when all
 * of it is; beside it lies its SHA-256, which it is compared with when a process first uses it.
 */
export interface ObjectCache {
  /** Path of the file of a name, whether or not it is there. */
  path(name: string): string;
  /** Whether the file is there with its content. @cost of other threads, once a process and file */
  has(name: string): Promise<boolean>;
  /** Takes an object in. @throws Refusal DOCUMENT_UNREADABLE when its content is not what its writer has said */
  fill(name: string, object: OpenObject): Promise<void>;
  /** Takes bytes in that this process has written. */
  put(name: string, bytes: Uint8Array, sha256: string): Promise<void>;
  /** Takes a file in under another name as well; one that is not there is fine. */
  link(from: string, to: string): Promise<void>;
  /** Absent ones are fine. */
  remove(name: string): Promise<void>;
}

export interface ObjectCacheOptions {
  readonly folder: string;
  /** Files beyond so many bytes go, those first that were used longest ago. */
  readonly bytesMax: number;
  readonly now?: () => number;
}

/** A file that was used within this time stays: its path may be on its way to a thread. */
const IN_USE_MS = 600_000;
/** How often a use is noted. */
const NOTED_MS = 60_000;
/** Share of the bound that is taken in between two looks at what is there. */
const LOOK_SHARE = 0.05;
const SUM = '.sha256';

export async function openObjectCache({ folder, bytesMax, now = Date.now }: ObjectCacheOptions): Promise<ObjectCache> {
  await makeFolder(folder);
  const path = (name: string): string => join(folder, name);
  /** Files that were compared with their hash, as they were then. */
  const known = new Map<string, string>();
  const notedAt = new Map<string, number>();
  let takenIn = 0;

  async function remove(name: string): Promise<void> {
    known.delete(name);
    notedAt.delete(name);
    for (const file of [path(name), path(`${name}${SUM}`)]) await rm(file, { force: true });
  }

  /** What changes when the content does; undefined where there is no file. */
  async function markOf(name: string): Promise<string | undefined> {
    const found = await stat(path(name)).catch(() => undefined);
    return found && `${found.ino} ${found.size} ${found.mtimeMs}`;
  }

  async function isIntact(name: string): Promise<boolean> {
    try {
      const sum = await readFile(path(`${name}${SUM}`), 'utf8');
      return (await sha256OfFile(path(name))) === sum;
    } catch {
      return false; // What cannot be read is fetched again, whatever the reason.
    }
  }

  /** The access time says when a file was last used, on every file system. */
  async function note(name: string): Promise<void> {
    if (now() - (notedAt.get(name) ?? 0) < NOTED_MS) return;
    notedAt.set(name, now());
    const { mtime } = await stat(path(name));
    await utimes(path(name), new Date(now()), mtime);
  }

  async function keep(name: string, draft: string, sha256: string, bytes: number): Promise<void> {
    await writeFile(`${draft}${SUM}`, sha256);
    await rename(`${draft}${SUM}`, path(`${name}${SUM}`));
    await rename(draft, path(name));
    const mark = await markOf(name);
    if (mark !== undefined) known.set(name, mark);
    notedAt.set(name, now());
    takenIn += bytes;
    if (takenIn > LOOK_SHARE * bytesMax) await makeRoom();
  }

  async function makeRoom(): Promise<void> {
    takenIn = 0;
    const files: { readonly name: string; readonly bytes: number; readonly usedAt: number }[] = [];
    for (const name of await readdir(folder)) {
      const found = name.endsWith(SUM) ? undefined : await stat(path(name)).catch(() => undefined);
      if (found !== undefined) files.push({ name, bytes: found.size, usedAt: found.atimeMs });
    }
    let excess = files.reduce((sum, { bytes }) => sum + bytes, 0) - bytesMax;
    for (const { name, bytes, usedAt } of files.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (excess <= 0 || now() - usedAt < IN_USE_MS) break;
      excess -= bytes;
      await remove(name);
    }
  }

  /**
   * Path of a file that is being written; one that a process left behind goes as any other. The folder is made where it
   * has gone: it holds copies alone, and somebody may have tidied it away.
   */
  async function newDraft(): Promise<string> {
    await makeFolder(folder);
    return path(`${randomBytes(8).toString('hex')}.part`);
  }

  return {
    path,
    async has(name) {
      const mark = await markOf(name);
      if (mark === undefined) return false;
      if (known.get(name) !== mark) {
        if (!(await isIntact(name))) return false;
        known.set(name, mark);
      }
      await note(name).catch(() => {}); // Another process has just removed it, or may not write here.
      return (await markOf(name)) !== undefined;
    },
    async fill(name, { body, bytes, sha256 }) {
      const draft = await newDraft();
      const hash = createHash('sha256');
      let length = 0;
      try {
        const file = await open(draft, 'wx', 0o600);
        try {
          for await (const chunk of body) {
            hash.update(chunk);
            length += chunk.length;
            await file.writeFile(chunk);
          }
        } finally {
          await file.close();
        }
        const digest = hash.digest('hex');
        if (length !== bytes || digest !== sha256) throw damagedArtifact(name);
        await keep(name, draft, digest, length);
      } finally {
        await rm(draft, { force: true });
      }
    },
    async put(name, bytes, sha256) {
      const draft = await newDraft();
      try {
        await writeFile(draft, bytes, { mode: 0o600 });
        await keep(name, draft, sha256, bytes.length);
      } finally {
        await rm(draft, { force: true });
      }
    },
    async link(from, to) {
      try {
        await link(path(`${from}${SUM}`), path(`${to}${SUM}`));
        await link(path(from), path(to));
      } catch {
        return remove(to); // It is fetched when it is read.
      }
      const mark = known.get(from);
      if (mark !== undefined) known.set(to, mark);
      notedAt.set(to, now());
    },
    remove,
  };
}
