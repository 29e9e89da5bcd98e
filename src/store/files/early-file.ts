import { hash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { LARGE_BYTES_MIN } from '#base/memory/page-memory.js';
import { callDirectly } from '../access/folder-calls.js';
import type { EarlyArtifact } from '../early-artifact.js';
import { openBy } from './flush-folder.js';

/** Paths of a local file during and after its writing. */
interface EarlyPaths {
  readonly draft: string;
  readonly path: string;
}

/**
 * Opens a file that a thread writes in the middle of its work. An asynchronous write would not continue before the end
 * of the work. The bytes are therefore copied to the page cache at once, and one flush writes them to disk meanwhile.
 */
export async function openEarly({ draft, path }: EarlyPaths): Promise<EarlyArtifact> {
  const handle = await openBy(callDirectly, draft, 'wx');
  let pendingWrite: { readonly bytes: number; readonly sha256: string; readonly flushing: Promise<void> } | undefined;

  async function drop(): Promise<void> {
    await pendingWrite?.flushing.catch(() => {});
    await handle.close();
    await unlink(draft).catch(() => {}); // garbage collection removes it later, or a cancellation already did
  }

  return {
    begin(bytes) {
      if (bytes.length >= LARGE_BYTES_MIN) return false;
      const pendingFlush = startWrite(() => {
        for (let offset = 0; offset < bytes.length;) offset += writeSync(handle.fd, bytes, offset);
        return handle.datasync();
      });
      pendingWrite = { bytes: bytes.length, sha256: hash('sha256', bytes, 'hex'), flushing: pendingFlush };
      return true;
    },
    async end() {
      const { bytes, sha256, flushing } = pendingWrite!; // `begin` was called
      try {
        await flushing;
        await rename(draft, path);
        return { bytes, sha256 };
      } catch (thrown) {
        await unlink(draft).catch(() => {}); // garbage collection removes it later
        throw thrown;
      } finally {
        await handle.close();
      }
    },
    drop,
  };
}

/** Starts a write. The code that awaits the write receives its error. */
function startWrite(write: () => Promise<void>): Promise<void> {
  const pendingFlush = (async () => write())();
  pendingFlush.catch(() => {});
  return pendingFlush;
}
