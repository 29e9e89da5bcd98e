import { join } from 'node:path';
import { openArtifactWriter } from '#artifact-writer';
import type { MadeBytes } from '#base/memory/made-bytes.js';
import type { TaskOutputs } from '#jobs/tasks/files.js';
import type { EarlyArtifact } from '#store/early-artifact.js';
import type { ArtifactRef, WriteOptions } from '#store/port.js';
import { answerBytes } from './hand-over.js';
import { isContentOf } from '../run-files/run-file.js';

/** Bytes of an artifact of a task, or null where there is none. */
type Content = Uint8Array<ArrayBuffer> | MadeBytes | null;
type Written<C extends Content> = C extends null ? null : ArtifactRef;

/** Content of an artifact, on memory that outlasts the task's arena. */
export const outputContent = (content: string | Uint8Array): Uint8Array<ArrayBuffer> => answerBytes(content).bytes;

interface OutputOptions extends Pick<WriteOptions, 'onWritten'> {
  /** What is not written: it is answered as if it were. */
  readonly again?: StoredAlready;
}

/**
 * Writes the artifacts of a task under the names it was given, which are on disk once the attempt has completed.
 * @throws Refusal STORAGE_FULL
 */
export async function writeOutputs<C extends Readonly<Record<string, Content>>>(
  { destination, names }: TaskOutputs<Extract<keyof C, string>>,
  contents: C,
  { again = new Map(), onWritten }: OutputOptions = {},
): Promise<{ readonly [F in keyof C]: Written<C[F]> }> {
  const files = Object.keys(contents).flatMap((file) => {
    const bytes = contents[file]!;
    return bytes === null ? [] : [{ file, name: names[file as keyof typeof names], bytes }];
  });
  const written = files.filter(({ file }) => !again.has(file));
  const writer = openArtifactWriter(destination);
  const options = { isSettledLater: true, onWritten };
  const refs = written.length === 0 ? [] : await writer.write(written, options);
  const byFile = new Map(written.map(({ file }, i) => [file, refs[i]!]));
  for (const { file, name, bytes } of files)
    if (again.has(file)) byFile.set(file, { name, bytes: bytes.length, sha256: again.get(file)! });
  // Null where there was no content, and for nothing else.
  return Object.fromEntries(Object.keys(contents).map((file) => [file, byFile.get(file) ?? null])) as {
    readonly [F in keyof C]: Written<C[F]>;
  };
}

/** An artifact of a task that may be known before all of the task is. */
export interface EarlyOutput {
  /** Lets bytes that are the artifact, unless something changes them yet, go to disk while the task computes on. */
  begin(bytes: Uint8Array<ArrayBuffer>): void;
  /** The artifact, on disk once the attempt has completed: what was begun, where these are the same bytes. */
  end(bytes: Uint8Array<ArrayBuffer>): Promise<ArtifactRef>;
}

/**
 * Runs a task with one of its artifacts early, of which nothing is left when it fails.
 * @throws Refusal STORAGE_FULL, before the task begins where it can be told
 */
export async function withEarlyOutput<F extends string, T>(
  outputs: TaskOutputs<F>,
  file: F,
  run: (output: EarlyOutput) => Promise<T>,
): Promise<T> {
  const name = outputs.names[file];
  const writer = openArtifactWriter(outputs.destination);
  let open: EarlyArtifact | undefined = await writer.early?.(name);
  let begun: Uint8Array | undefined;

  async function drop(): Promise<void> {
    const dropped = open;
    open = undefined;
    await dropped?.drop();
  }

  async function end(bytes: Uint8Array): Promise<ArtifactRef> {
    const early = open;
    if (early !== undefined && begun === bytes) {
      open = undefined;
      return { name, ...(await early.end()) };
    }
    await drop();
    const [ref] = await writer.write([{ name, bytes }], { isSettledLater: true });
    return ref!;
  }

  try {
    return await run({
      begin(bytes) {
        if (open?.begin(bytes)) begun = bytes;
      },
      end,
    });
  } finally {
    await drop();
  }
}

/** SHA-256 of contents of a task that need not be written, by what they hold: stored files have the same bytes. */
export type StoredAlready = ReadonlyMap<string, string>;

/**
 * Looks which contents are stored already, in a folder of this machine: a file that has the bytes is not damaged, and its
 * hash need not be made again.
 * @cost one read of the files of the same size, up to the first byte that differs
 */
export function storedAlready(
  outputs: Destined,
  contents: Readonly<Record<string, Uint8Array | null>>,
  stored: Readonly<Record<string, ArtifactRef | undefined>> = {},
): StoredAlready {
  const again = new Map<string, string>();
  for (const [file, bytes] of Object.entries(contents)) {
    const known = stored[file];
    if (!bytes || known?.bytes !== bytes.length) continue;
    const path = ownPath(outputs, known);
    if (path !== undefined && isContentOf(path, bytes)) again.set(file, known.sha256);
  }
  return again;
}

type Destined = Pick<TaskOutputs<string>, 'destination'>;

/** Path of a stored artifact beside the outputs of a task, undefined where they are not in a folder of this machine alone. */
export function ownPath({ destination }: Destined, { name }: Pick<ArtifactRef, 'name'>): string | undefined {
  if (destination.kind !== 'folder' || destination.storeId !== undefined) return undefined;
  return join(destination.folder, name);
}
