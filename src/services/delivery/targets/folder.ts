import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DeliveryDestinations } from '../delivery-destinations.js';
import {
  computeChecksum,
  DeliveryFault,
  sendEachFile,
  readFolder,
  readFileName,
  formatPartName,
  PRESENT_MESSAGE,
  REPLACED_MESSAGE,
  SENT_MESSAGE,
  type OutgoingFile,
  type Sender,
} from '../sender.js';

/** Writes files into a folder: complete under a temporary name, then renamed. */
export const createFolderSender = (destinations: Pick<DeliveryDestinations, 'assertFolder'>): Sender<'folder'> => {
  async function send(file: OutgoingFile, root: string, hasChecksum: boolean): Promise<string> {
    const folder = join(root, ...readFolder(file.path).split('/'));
    await destinations.assertFolder(folder);
    await mkdir(folder, { recursive: true });
    await destinations.assertFolder(folder); // a link may have been created meanwhile
    const path = join(folder, readFileName(file.path));
    const before = await readHash(path, file.bytes);
    if (before !== file.sha256) {
      const content = await file.content();
      // The checksum is removed first, so that readers do not mistake the old file for the new file.
      if (before !== undefined && hasChecksum) await rm(`${path}.sha256`, { force: true });
      await writeAtomically(folder, { name: readFileName(file.path), part: formatPartName(file), content });
    }
    if (hasChecksum) await writeChecksum(folder, file);
    if (before === undefined) return SENT_MESSAGE;
    return before === file.sha256 ? PRESENT_MESSAGE : REPLACED_MESSAGE;
  }

  return (job) =>
    sendEachFile(job, async (file) => {
      await job.begin(file);
      const { target } = job;
      return send(file, fileURLToPath(target.url), target.checksum).catch((thrown: unknown) => {
        throw toFault(thrown);
      });
    });
};

/**
 * Returns the SHA-256 of a file; undefined if the file does not exist, and a text that is not a hash if its size
 * differs.
 */
async function readHash(path: string, bytes: number): Promise<string | undefined> {
  const result = await stat(path).catch(() => undefined);
  if (result === undefined) return undefined;
  if (result.size !== bytes) return 'other';
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

async function writeChecksum(folder: string, file: OutgoingFile): Promise<void> {
  const name = `${readFileName(file.path)}.sha256`;
  const content = computeChecksum(file);
  const before = await readFile(join(folder, name), 'utf8').catch(() => undefined);
  if (before !== content) await writeAtomically(folder, { name, part: `${formatPartName(file)}.sha256`, content });
}

interface PartialFile {
  readonly name: string;
  /** Temporary name while the file is written. */
  readonly part: string;
  readonly content: Uint8Array | string;
}

async function writeAtomically(folder: string, { name, part, content }: PartialFile): Promise<void> {
  const partial = join(folder, part);
  const file = await open(partial, 'w');
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partial, join(folder, name));
  const directory = await open(folder, 'r').catch(() => undefined);
  await directory?.sync().catch(() => {}); // file systems without directory sync persist the name soon enough
  await directory?.close();
}

function toFault(thrown: unknown): unknown {
  const { code } = thrown as { readonly code?: unknown };
  if (thrown instanceof DeliveryFault || typeof code !== 'string') return thrown;
  return new DeliveryFault(`The folder could not be written: ${code}.`, { cause: thrown });
}
