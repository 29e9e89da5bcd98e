import { createFolderWriter } from './artifacts/folder-writer.js';
import { createGauge, watchFreeSpace } from './artifacts/free-space.js';
import { guardFolder } from './artifacts/durable-files.js';
import type { ArtifactDestination, ArtifactWriter } from './port.js';

/** Opens a writer of artifacts for a destination, in any thread or process with access to it. */
export function openArtifactWriter(destination: ArtifactDestination): ArtifactWriter {
  if (destination.kind === 'folder') {
    const { folder, lowWaterMark, storeId } = destination;
    if (storeId === undefined) return createFolderWriter(folder, watchFreeSpace(folder, lowWaterMark));
    const guard = guardFolder(folder, storeId);
    return createFolderWriter(folder, watchFreeSpace(folder, lowWaterMark, createGauge(guard.call)), guard);
  }
  return {
    async write(contents, options) {
      // loaded on demand
      const { openObjectWriter } = await import('./s3/object-store.js');
      return (await openObjectWriter(destination)).write(contents, options);
    },
  };
}
