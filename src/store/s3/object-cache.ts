import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, link, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { joinBytes, type ProducedBytes } from '#base/bytes.js';
import { refuseDamagedArtifact } from '../artifacts/artifact.js';
import { computeFileSha256, makeFolder } from '../artifacts/durable-files.js';
import type { ArtifactDestination, ArtifactWriter } from '../port.js';
import { createS3Client, type ObjectSource, type OpenObject } from './client.js';

/** Returns the content of an open file as a source. The source reads the file piece by piece. */
export const createSource = (file: FileHandle, length: number): ObjectSource => ({
  length,
  slice: (start, end) => readSlice(file, start, end),
});

async function readSlice(file: FileHandle, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  for (let offset = 0; offset < bytes.length;) {
    const { bytesRead } = await file.read(bytes, offset, bytes.length - offset, start + offset);
    if (bytesRead === 0) throw new Error(`the file ended ${bytes.length - offset} bytes early`);
    offset += bytesRead;
  }
  return bytes;
}

/**
 * Cache of objects as files of a local folder. Processes of the machine share it. A file gets its final name only when
 * it is complete. A second file contains its SHA-256, which is verified when a process first uses the file.
 */
export interface ObjectCache {
  /** Returns the path of a cached object. The file may be absent. */
  path(name: string): string;
  /**
   * Returns true if the file exists and matches its hash. @cost one hash of the file on other threads, once per process
   */
  has(name: string): Promise<boolean>;
  /** Stores an object. @throws Refusal DOCUMENT_UNREADABLE if the content does not match the hash of its writer */
  fill(name: string, object: OpenObject): Promise<void>;
  /** Stores bytes that this process wrote. */
  put(name: string, bytes: Uint8Array, sha256: string): Promise<void>;
  /**
   * Writes content that is produced piece by piece to a file, sends it from the file with `send`, and stores it. The
   * whole content is never in memory.
   * @returns its SHA-256, hex
   */
  make(name: string, content: ProducedBytes, send: SendObject): Promise<string>;
  /** Links a file under another name. Ignores an absent file. */
  link(from: string, to: string): Promise<void>;
  /** Removes a file; ignores an absent file. */
  remove(name: string): Promise<void>;
}

/** Function that sends an object with its SHA-256. */
type SendObject = (source: ObjectSource, sha256: string) => Promise<void>;

export interface ObjectCacheOptions {
  readonly folder: string;
  /** Maximum size of the cache; the least recently used files are removed. */
  readonly bytesMax: number;
  readonly now?: () => number;
}

/** Time for which a file is kept after its last use. A thread may be about to open it. */
const IN_USE_MS = 600_000;
/** Resolution of the recorded time of use. */
const NOTED_MS = 60_000;
/** Share of the maximum size that may be stored between two checks of the total size. */
const LOOK_SHARE = 0.05;
const SUM_SUFFIX = '.sha256';

export async function openObjectCache({ folder, bytesMax, now = Date.now }: ObjectCacheOptions): Promise<ObjectCache> {
  await makeFolder(folder);
  const getPath = (name: string): string => join(folder, name);
  /** Metadata of files at their last verification, by name. */
  const marksByName = new Map<string, string>();
  const notedAt = new Map<string, number>();
  let addedBytes = 0;

  async function remove(name: string): Promise<void> {
    marksByName.delete(name);
    notedAt.delete(name);
    for (const file of [getPath(name), getPath(`${name}${SUM_SUFFIX}`)]) await rm(file, { force: true });
  }

  /** Returns metadata that changes with the content. Returns undefined if there is no file. */
  async function readFileMark(name: string): Promise<string | undefined> {
    const result = await stat(getPath(name)).catch(() => undefined);
    return result && `${result.ino} ${result.size} ${result.mtimeMs}`;
  }

  async function isIntact(name: string): Promise<boolean> {
    try {
      const checksum = await readFile(getPath(`${name}${SUM_SUFFIX}`), 'utf8');
      return (await computeFileSha256(getPath(name))) === checksum;
    } catch {
      return false; // an unreadable file is fetched again, whatever the reason
    }
  }

  /** Records a use of a file in its access time, which works on every file system. */
  async function recordUse(name: string): Promise<void> {
    if (now() - (notedAt.get(name) ?? 0) < NOTED_MS) return;
    notedAt.set(name, now());
    const { mtime } = await stat(getPath(name));
    await utimes(getPath(name), new Date(now()), mtime);
  }

  async function keep(name: string, draft: string, sha256: string, bytes: number): Promise<void> {
    await writeFile(`${draft}${SUM_SUFFIX}`, sha256);
    await rename(`${draft}${SUM_SUFFIX}`, getPath(`${name}${SUM_SUFFIX}`));
    await rename(draft, getPath(name));
    const fileMark = await readFileMark(name);
    if (fileMark !== undefined) marksByName.set(name, fileMark);
    notedAt.set(name, now());
    addedBytes += bytes;
    if (addedBytes > LOOK_SHARE * bytesMax) await evict();
  }

  async function evict(): Promise<void> {
    addedBytes = 0;
    for (const name of await listExcessFiles(folder, bytesMax, now() - IN_USE_MS)) await remove(name);
  }

  /**
   * Runs a function with the path of a new draft. If the draft still exists afterwards, it is removed. A draft of an
   * ended process is evicted like any file. Creates a missing folder again: an operator may have deleted it, because it
   * contains only copies.
   */
  async function runWithDraft<T>(work: (draft: string) => Promise<T>): Promise<T> {
    await makeFolder(folder);
    const draftPath = getPath(`${randomBytes(8).toString('hex')}.part`);
    try {
      return await work(draftPath);
    } finally {
      await rm(draftPath, { force: true });
    }
  }

  return {
    path: getPath,
    async has(name) {
      const fileMark = await readFileMark(name);
      if (fileMark === undefined) return false;
      if (marksByName.get(name) !== fileMark) {
        if (!(await isIntact(name))) return false;
        marksByName.set(name, fileMark);
      }
      await recordUse(name).catch(() => {}); // another process may have removed the file, or the folder may be read-only
      return (await readFileMark(name)) !== undefined;
    },
    async fill(name, object) {
      await runWithDraft(async (draft) => {
        const { sha256, bytes } = await writeBody(draft, object.body);
        if (bytes !== object.bytes || sha256 !== object.sha256) throw refuseDamagedArtifact(name);
        await keep(name, draft, sha256, bytes);
      });
    },
    async put(name, bytes, sha256) {
      await runWithDraft(async (draft) => {
        await writeFile(draft, bytes, { mode: 0o600 });
        await keep(name, draft, sha256, bytes.length);
      });
    },
    make: (name, content, send) =>
      runWithDraft(async (draft) => {
        const sha256 = await writeParts(draft, content, send);
        await keep(name, draft, sha256, content.length);
        return sha256;
      }),
    async link(from, to) {
      try {
        await link(getPath(`${from}${SUM_SUFFIX}`), getPath(`${to}${SUM_SUFFIX}`));
        await link(getPath(from), getPath(to));
      } catch {
        return remove(to); // the object is fetched when it is read
      }
      const fileMark = marksByName.get(from);
      if (fileMark !== undefined) marksByName.set(to, fileMark);
      notedAt.set(to, now());
    },
    remove,
  };
}

/**
 * Returns the files to remove because the cache exceeds its maximum size. Files whose last use is oldest come first;
 * recently used files are kept.
 */
async function listExcessFiles(folder: string, bytesMax: number, keptFrom: number): Promise<readonly string[]> {
  const files: { readonly name: string; readonly bytes: number; readonly usedAt: number }[] = [];
  for (const name of await readdir(folder)) {
    const result = name.endsWith(SUM_SUFFIX) ? undefined : await stat(join(folder, name)).catch(() => undefined);
    if (result !== undefined) files.push({ name, bytes: result.size, usedAt: result.atimeMs });
  }
  let excess = files.reduce((sum, { bytes }) => sum + bytes, 0) - bytesMax;
  const names: string[] = [];
  for (const { name, bytes, usedAt } of files.toSorted((a, b) => a.usedAt - b.usedAt)) {
    if (excess <= 0 || usedAt > keptFrom) break;
    excess -= bytes;
    names.push(name);
  }
  return names;
}

/** Writes the body of a response to a new file. */
async function writeBody(draft: string, body: OpenObject['body']): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(draft, 'wx', 0o600);
  try {
    for await (const chunk of body) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), bytes };
}

/** Writes content to a new file piece by piece, and sends it from the file. @returns its SHA-256, hex */
async function writeParts(draft: string, content: ProducedBytes, send: SendObject): Promise<string> {
  const file = await open(draft, 'wx+', 0o600);
  const hash = createHash('sha256');
  try {
    for (const part of content.parts()) {
      hash.update(part);
      await file.writeFile(part);
    }
    const sha256 = hash.digest('hex');
    await send(createSource(file, content.length), sha256);
    return sha256;
  } finally {
    await file.close();
  }
}

/** Maximum size of produced content that is joined in memory. Larger content is sent from a file. */
const JOINED_BYTES_MAX = 16 << 20;

/**
 * Opens a writer of artifacts as objects. It also stores the objects in the cache of this machine, because they are
 * read there next.
 */
export async function openObjectWriter(
  destination: Extract<ArtifactDestination, { readonly kind: 's3' }>,
): Promise<ArtifactWriter> {
  const client = createS3Client(destination.access);
  const cache = await openObjectCache(destination.cache);
  return {
    async write(contents) {
      const outcomes = await Promise.allSettled(
        contents.map(async ({ name, bytes: content }) => {
          if (!(content instanceof Uint8Array) && content.length > JOINED_BYTES_MAX) {
            const sha256 = await cache.make(name, content, (source, hash) => client.put(name, source, hash));
            return { name, bytes: content.length, sha256 };
          }
          const bytes = content instanceof Uint8Array ? content : joinBytes(content); // the signature of a request includes its hash, so the hash must be known before
          const sha256 = createHash('sha256').update(bytes).digest('hex');
          await client.put(name, bytes, sha256);
          await cache.put(name, bytes, sha256);
          return { name, bytes: bytes.length, sha256 };
        }),
      );
      const failure = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failure !== undefined) {
        // Objects that cannot be removed now have no document. They are removed a day later.
        await Promise.allSettled(contents.map(({ name }) => client.remove(name)));
        throw failure.reason;
      }
      return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    },
  };
}
