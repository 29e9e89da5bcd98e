import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskOutputs } from '#jobs/tasks/messages.js';
import type { ArtifactDestination, ArtifactRef } from '#store/port.js';

/** Task outputs that do not require an open store. */
export interface WrittenOutputs {
  readonly destination: ArtifactDestination;
  /** Returns outputs with unused names. */
  outputs<K extends string>(...files: readonly K[]): TaskOutputs<K>;
  read(ref: ArtifactRef): Uint8Array;
  path(ref: ArtifactRef): string;
  remove(): Promise<void>;
}

export async function writeOutputs(): Promise<WrittenOutputs> {
  const folder = await mkdtemp(join(tmpdir(), 'outputs-'));
  const destination: ArtifactDestination = { kind: 'folder', folder, lowWaterMark: { bytes: 0 } };
  return {
    destination,
    outputs<K extends string>(...files: readonly K[]) {
      const names = Object.fromEntries(files.map((file) => [file, randomUUID()])) as Record<K, string>;
      return { destination, names };
    },
    read: ({ name }) => readFileSync(join(folder, name)),
    path: ({ name }) => join(folder, name),
    remove: () => rm(folder, { recursive: true }),
  };
}
