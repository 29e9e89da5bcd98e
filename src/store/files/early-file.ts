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
 * Opens a file that a thread writes in the middle of its work. An asynchronous call would not continue before the work
 * ends, so the bytes are copied at once, and one flush takes them to disk meanwhile.
 */
export async function openEarly({ draft, path }: EarlyPaths): Promise<EarlyArtifact> {
  const handle = await openBy(callDirectly, draft, 'wx');
  let pending: { readonly bytes: number; readonly sha256: string; readonly flushing: Promise<void> } | undefined;

  async function drop(): Promise<void> {
    await pending?.flushing.catch(() => {});
    await handle.close();
    await unlink(draft).catch(() => {}); // garbage collection removes it, or a cancellation already did
  }

  return {
    begin(bytes) {
      if (bytes.length >= LARGE_BYTES_MIN) return false;
      const flushing = startWrite(() => {
        for (let at = 0; at < bytes.length;) at += writeSync(handle.fd, bytes, at);
        return handle.datasync();
      });
      pending = { bytes: bytes.length, sha256: hash('sha256', bytes, 'hex'), flushing };
      return true;
    },
    async end() {
      const { bytes, sha256, flushing } = pending!; // `begin` was called
      try {
        await flushing;
        await rename(draft, path);
        return { bytes, sha256 };
      } catch (thrown) {
        await unlink(draft).catch(() => {}); // garbage collection removes it
        throw thrown;
      } finally {
        await handle.close();
      }
    },
    drop,
  };
}

/** Starts a write whose failure is reported to its caller. */
function startWrite(write: () => Promise<void>): Promise<void> {
  const flushing = (async () => write())();
  flushing.catch(() => {});
  return flushing;
}
