import { openArtifactWriter } from '#artifact-writer';
import type { MadeBytes } from '#domain/made-bytes.js';
import type { TaskOutputs } from '#jobs/tasks/files.js';
import type { ArtifactRef } from '#store/port.js';
import { answerBytes } from './hand-over.js';

/** Bytes of an artifact of a task, or null where there is none. */
type Content = Uint8Array<ArrayBuffer> | MadeBytes | null;
type Written<C extends Content> = C extends null ? null : ArtifactRef;

/** Content of an artifact, on memory that outlasts the task's arena. */
export const outputContent = (content: string | Uint8Array): Uint8Array<ArrayBuffer> => answerBytes(content).bytes;

/**
 * Writes the artifacts of a task under the names it was given, which are on disk once the attempt has completed.
 * @throws Refusal STORAGE_FULL
 */
export async function writeOutputs<C extends Readonly<Record<string, Content>>>(
  { destination, names }: TaskOutputs<Extract<keyof C, string>>,
  contents: C,
): Promise<{ readonly [F in keyof C]: Written<C[F]> }> {
  const files = Object.keys(contents).flatMap((file) => {
    const bytes = contents[file]!;
    return bytes === null ? [] : [{ file, name: names[file as keyof typeof names], bytes }];
  });
  const refs = await openArtifactWriter(destination).write(files, { isSettledLater: true });
  const byFile = new Map(files.map(({ file }, i) => [file, refs[i]!]));
  // Null where there was no content, and for nothing else.
  return Object.fromEntries(Object.keys(contents).map((file) => [file, byFile.get(file) ?? null])) as {
    readonly [F in keyof C]: Written<C[F]>;
  };
}
