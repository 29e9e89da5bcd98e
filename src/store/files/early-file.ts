import { hash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { LARGE_BYTES_MIN } from '#base/memory/page-memory.js';
import { ownCall } from '../access/folder-calls.js';
import type { EarlyArtifact } from '../early-artifact.js';
import { openBy } from './flush-folder.js';

/** Of a file of this machine while it is written, and afterwards. */
interface EarlyPaths {
  readonly draft: string;
  readonly path: string;
}

/**
 * Opens a file whose bytes a thread writes in the middle of its work. A call that waits for others would not go on before
 * that ends: the bytes are copied at once, and one flush takes them to disk meanwhile.
 */
export async function openEarly({ draft, path }: EarlyPaths): Promise<EarlyArtifact> {
  const handle = await openBy(ownCall, draft, 'wx');
  let begun: { readonly bytes: number; readonly sha256: string; readonly flushing: Promise<void> } | undefined;

  async function drop(): Promise<void> {
    await begun?.flushing.catch(() => {});
    await handle.close();
    await unlink(draft).catch(() => {}); // It goes with the garbage, or went with all of a job that was cancelled.
  }

  return {
    begin(bytes) {
      if (bytes.length >= LARGE_BYTES_MIN) return false;
      const flushing = flushed(() => {
        for (let at = 0; at < bytes.length;) at += writeSync(handle.fd, bytes, at);
        return handle.datasync();
      });
      begun = { bytes: bytes.length, sha256: hash('sha256', bytes, 'hex'), flushing };
      return true;
    },
    async end() {
      const { bytes, sha256, flushing } = begun!; // It was begun.
      try {
        await flushing;
        await rename(draft, path);
        return { bytes, sha256 };
      } catch (thrown) {
        await unlink(draft).catch(() => {}); // It goes with the garbage.
        throw thrown;
      } finally {
        await handle.close();
      }
    },
    drop,
  };
}

/** What a call fails with is told to whoever waits for it. */
function flushed(write: () => Promise<void>): Promise<void> {
  const flushing = (async () => write())();
  flushing.catch(() => {});
  return flushing;
}
