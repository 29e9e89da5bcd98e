import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Stored artifact with name, size and hash. */
export const StoredArtifact = defineObject(() => ({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }));
export type StoredArtifact = z.infer<typeof StoredArtifact>;

/**
 * Files of a stored matrix: one file, or one file per part, in order. The SHA-256 of a single file is that of its
 * bytes. For parts, it is that of their joined hex hashes, because no node reads the parts of other nodes.
 */
export const MatrixFiles = z.union([
  StoredArtifact,
  defineObject(() => ({ sha256: z.string(), files: z.array(StoredArtifact) })),
]);
export type MatrixFiles = z.infer<typeof MatrixFiles>;

export const listMatrixFiles = (matrix: MatrixFiles): readonly StoredArtifact[] =>
  'files' in matrix ? matrix.files : [matrix];
