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

/** Writes files to a folder. Each file is written under a temporary name and then renamed. */
export const createFolderSender = (destinations: Pick<DeliveryDestinations, 'assertFolder'>): Sender<'folder'> => {
  async function send(file: OutgoingFile, root: string, hasChecksum: boolean): Promise<string> {
    const folder = join(root, ...readFolder(file.path).split('/'));
    await destinations.assertFolder(folder);
    await mkdir(folder, { recursive: true });
    await destinations.assertFolder(folder); // a link may have been created meanwhile
    const path = join(folder, readFileName(file.path));
    const previousHash = await readHash(path, file.bytes);
    if (previousHash !== file.sha256) {
      const content = await file.content();
      // The checksum is removed first. Otherwise a reader could check the new file against the old checksum.
      if (previousHash !== undefined && hasChecksum) await rm(`${path}.sha256`, { force: true });
      await writeAtomically(folder, { name: readFileName(file.path), part: formatPartName(file), content });
    }
    if (hasChecksum) await writeChecksum(folder, file);
    if (previousHash === undefined) return SENT_MESSAGE;
    return previousHash === file.sha256 ? PRESENT_MESSAGE : REPLACED_MESSAGE;
  }

  return (job) =>
    sendEachFile(job, async (file) => {
      await job.begin(file);
      const { target } = job;
      return send(file, fileURLToPath(target.url), target.checksum).catch((failure: unknown) => {
        throw toFault(failure);
      });
    });
};

/**
 * Returns the SHA-256 of a file. Returns undefined if the file does not exist, and a text that is not a hash if the
 * size is different.
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
  const previousChecksum = await readFile(join(folder, name), 'utf8').catch(() => undefined);
  if (previousChecksum !== content)
    await writeAtomically(folder, { name, part: `${formatPartName(file)}.sha256`, content });
}

interface PartialFile {
  readonly name: string;
  /** Temporary name while the file is written. */
  readonly part: string;
  readonly content: Uint8Array | string;
}

async function writeAtomically(folder: string, { name, part, content }: PartialFile): Promise<void> {
  const partialPath = join(folder, part);
  const file = await open(partialPath, 'w');
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partialPath, join(folder, name));
  const directory = await open(folder, 'r').catch(() => undefined);
  await directory?.sync().catch(() => {}); // file systems without directory sync persist the name soon enough
  await directory?.close();
}

function toFault(failure: unknown): unknown {
  const { code } = failure as { readonly code?: unknown };
  if (failure instanceof DeliveryFault || typeof code !== 'string') return failure;
  return new DeliveryFault(`The folder could not be written: ${code}.`, { cause: failure });
}
