import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const FILE_FORMATS = ['parquet', 'csv', 'jsonl', 'xlsx'] as const;
type FileFormat = (typeof FILE_FORMATS)[number];

export interface SourceFile {
  /** Path of the file, with symbolic links resolved. */
  readonly path: string;
  /**
   * Name of the file in findings. It is the dataset, followed by the path within it if the dataset is a folder of
   * files.
   */
  readonly label: string;
  readonly format: FileFormat;
  readonly isGzipped: boolean;
  readonly bytes: number;
  /**
   * Identity of the contents: device, inode, size, and times of the last write and change. If the identity is
   * unchanged, the bytes are unchanged.
   */
  readonly identity: string;
  /** Latest change time of the file and its links, ms since 1970. */
  readonly changedAt: number;
}

export interface SourceDigest {
  readonly label: string;
  readonly bytes: number;
  /** SHA-256 of the bytes, hex. */
  readonly sha256: string;
}

const CHUNK_BYTES = 1 << 20;

export const allocateDigestMemory = (): Buffer => Buffer.allocUnsafeSlow(CHUNK_BYTES);

/**
 * Returns the size of a file and the SHA-256 of its bytes.
 * @param path without symbolic links; a link that was created later is not followed.
 * @throws if the file cannot be read
 * @cost 1 ms a MiB
 */
export async function digestSource(
  path: string,
  label: string,
  memory = allocateDigestMemory(),
): Promise<SourceDigest> {
  const hash = createHash('sha256');
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    for (let bytes = 0; ;) {
      const { bytesRead } = await file.read(memory, 0, memory.length);
      if (bytesRead === 0) return { label, bytes, sha256: hash.digest('hex') };
      hash.update(memory.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

export async function digestFiles(
  files: readonly Pick<SourceFile, 'path' | 'label'>[],
  digests: SourceDigest[],
): Promise<void> {
  const memory = allocateDigestMemory();
  for (const { path, label } of files) digests.push(await digestSource(path, label, memory));
}
