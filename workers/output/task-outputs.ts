import { join } from 'node:path';
import { openArtifactWriter } from '#artifact-writer';
import type { ProducedBytes } from '#base/memory/produced-bytes.js';
import type { TaskOutputs } from '#jobs/tasks/files.js';
import type { EarlyArtifact } from '#store/early-artifact.js';
import type { ArtifactRef, WriteOptions } from '#store/port.js';
import { answerBytes } from './hand-over.js';
import { isContentOf } from '../run-files/run-file.js';

/** Bytes of an artifact of a task. They are null if there is no artifact. */
type Content = Uint8Array<ArrayBuffer> | ProducedBytes | null;
type OutputReference<C extends Content> = C extends null ? null : ArtifactRef;

/** Copies the content of an artifact to memory that remains after the memory of the task was freed. */
export const copyOutput = (content: string | Uint8Array): Uint8Array<ArrayBuffer> => answerBytes(content).bytes;

interface OutputOptions extends Pick<WriteOptions, 'onWritten'> {
  /** Contents that are already stored. They are returned without a write. */
  readonly again?: StoredArtifacts;
}

/**
 * Writes the artifacts of a task under their names. They are on disk once the attempt has completed.
 * @throws Refusal STORAGE_FULL
 */
export async function writeOutputs<C extends Readonly<Record<string, Content>>>(
  { destination, names }: TaskOutputs<Extract<keyof C, string>>,
  contents: C,
  { again = new Map(), onWritten }: OutputOptions = {},
): Promise<{ readonly [F in keyof C]: OutputReference<C[F]> }> {
  const files = Object.keys(contents).flatMap((file) => {
    const bytes = contents[file]!;
    return bytes === null ? [] : [{ file, name: names[file as keyof typeof names], bytes }];
  });
  const newFiles = files.filter(({ file }) => !again.has(file));
  const writer = openArtifactWriter(destination);
  const options = { isSettledLater: true, onWritten };
  const refs = newFiles.length === 0 ? [] : await writer.write(newFiles, options);
  const byFile = new Map(newFiles.map(({ file }, i) => [file, refs[i]!]));
  for (const { file, name, bytes } of files)
    if (again.has(file)) byFile.set(file, { name, bytes: bytes.length, sha256: again.get(file)! });
  // only absent content is null
  return Object.fromEntries(Object.keys(contents).map((file) => [file, byFile.get(file) ?? null])) as {
    readonly [F in keyof C]: OutputReference<C[F]>;
  };
}

/** Artifact of a task. Its bytes may be complete before the task ends. */
export interface EarlyOutput {
  /** Starts to write the likely final bytes to disk while the task computes. */
  begin(bytes: Uint8Array<ArrayBuffer>): void;
  /**
   * Completes the artifact, which is on disk once the attempt has completed. If the bytes equal those of `begin`, uses
   * the write that `begin` started.
   */
  end(bytes: Uint8Array<ArrayBuffer>): Promise<ArtifactRef>;
}

/**
 * Runs a task that may write one of its artifacts early. A failure leaves no file.
 * @throws Refusal STORAGE_FULL, before the task starts if possible
 */
export async function runWithEarlyOutput<F extends string, T>(
  outputs: TaskOutputs<F>,
  file: F,
  run: (output: EarlyOutput) => Promise<T>,
): Promise<T> {
  const name = outputs.names[file];
  const writer = openArtifactWriter(outputs.destination);
  let earlyArtifact: EarlyArtifact | undefined = await writer.early?.(name);
  let startedBytes: Uint8Array | undefined;

  async function dropArtifact(): Promise<void> {
    const droppedArtifact = earlyArtifact;
    earlyArtifact = undefined;
    await droppedArtifact?.drop();
  }

  async function endArtifact(bytes: Uint8Array): Promise<ArtifactRef> {
    const openArtifact = earlyArtifact;
    if (openArtifact !== undefined && startedBytes === bytes) {
      earlyArtifact = undefined;
      return { name, ...(await openArtifact.end()) };
    }
    await dropArtifact();
    const [ref] = await writer.write([{ name, bytes }], { isSettledLater: true });
    return ref!;
  }

  try {
    return await run({
      begin(bytes) {
        if (earlyArtifact?.begin(bytes)) startedBytes = bytes;
      },
      end: endArtifact,
    });
  } finally {
    await dropArtifact();
  }
}

/**
 * SHA-256 hashes of contents that need not be written, by the name of the content. Stored files have the same bytes.
 */
export type StoredArtifacts = ReadonlyMap<string, string>;

/**
 * Finds contents that are already stored in a local folder. A stored file with the same bytes is not damaged, and its
 * hash need not be computed again.
 * @cost one read of the files of equal size, up to the first different byte
 */
export function findStoredAlready(
  outputs: OutputDestination,
  contents: Readonly<Record<string, Uint8Array | null>>,
  stored: Readonly<Record<string, ArtifactRef | undefined>> = {},
): StoredArtifacts {
  const repeatedHashes = new Map<string, string>();
  for (const [file, bytes] of Object.entries(contents)) {
    const artifactRef = stored[file];
    if (!bytes || artifactRef?.bytes !== bytes.length) continue;
    const path = findOutputPath(outputs, artifactRef);
    if (path !== undefined && isContentOf(path, bytes)) repeatedHashes.set(file, artifactRef.sha256);
  }
  return repeatedHashes;
}

type OutputDestination = Pick<TaskOutputs<string>, 'destination'>;

/**
 * Returns the path of a stored artifact in the folder of a task's outputs. Returns undefined if the outputs are not in
 * a local folder.
 */
export function findOutputPath(
  { destination }: OutputDestination,
  { name }: Pick<ArtifactRef, 'name'>,
): string | undefined {
  if (destination.kind !== 'folder' || destination.storeId !== undefined) return undefined;
  return join(destination.folder, name);
}
