import { createArchive, type Member, pack } from '#console/pages/data/zip.js';

/** Packs files into one archive. */
export const createZip = async (members: readonly Member[]): Promise<Blob> =>
  createArchive(await Promise.all(members.map(pack)));
