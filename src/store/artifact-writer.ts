import { createFolderWriter } from './files/folder-writer.js';
import { watchFreeSpace } from './files/free-space.js';
import type { ArtifactDestination, ArtifactWriter } from './port.js';

/** Opens what writes artifacts to a destination, in any thread or process that can reach it. */
export function openArtifactWriter({ folder, lowWaterMark }: ArtifactDestination): ArtifactWriter {
  return createFolderWriter(folder, watchFreeSpace(folder, lowWaterMark));
}
