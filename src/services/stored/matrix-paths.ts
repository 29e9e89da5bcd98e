import { listMatrixFiles, type MatrixFiles } from '#domain/risk/matrix-files.js';
import type { ArtifactStore } from '#store/port.js';

/** Returns the paths of the files of a matrix, in their order. */
export const resolveMatrixPaths = (artifacts: Pick<ArtifactStore, 'file'>, matrix: MatrixFiles): Promise<string[]> =>
  Promise.all(listMatrixFiles(matrix).map(artifacts.file));
