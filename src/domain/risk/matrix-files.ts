import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** A stored artifact. */
export const StoredArtifact = defineObject(() => ({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }));
export type StoredArtifact = z.infer<typeof StoredArtifact>;

/**
 * A stored matrix: one file, or for a model in parts a file for each part, one after the other. Its SHA-256 is that of
 * the file, or that of the hashes of its files in hex, joined: no node reads the files of others.
 */
export const MatrixFiles = z.union([
  StoredArtifact,
  defineObject(() => ({ sha256: z.string(), files: z.array(StoredArtifact) })),
]);
export type MatrixFiles = z.infer<typeof MatrixFiles>;

export const filesOf = (matrix: MatrixFiles): readonly StoredArtifact[] =>
  'files' in matrix ? matrix.files : [matrix];
