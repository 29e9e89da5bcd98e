import { createArchive, type ArchiveMember, pack } from '#console/pages/data/zip.js';

/** Packs files into one archive. */
export const createZip = async (members: readonly ArchiveMember[]): Promise<Blob> =>
  createArchive(await Promise.all(members.map(pack)));
