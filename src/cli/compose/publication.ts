import { createPublicationHandlers } from '#http/routes/publication.js';
import { createBundles } from '#services/publication/bundles.js';
import { createPublications } from '#services/publication/publications.js';
import { computeTarLength, createTarParts, type TarMember } from '#views/bundle/tar.js';
import { createSigningKeys } from '#services/stored/signing-keys.js';
import type { ViewMaker } from '#services/runs/view-maker.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Core } from './core.js';

/** Composes published closes and their signing keys. */
export function composePublication(core: Core, { maker }: { readonly maker: ViewMaker }) {
  const terms = { ...core, maker, archive: createArchive, timestamp: () => formatTimestamp(core.now()) };
  const signingKeys = createSigningKeys(terms);
  const publications = createPublications({ ...terms, signingKeys });
  const bundles = createBundles({ ...terms, publications, signingKeys });
  return { publications, handlers: createPublicationHandlers(publications, bundles) };
}

const createArchive = (members: readonly TarMember[]) => ({
  parts: createTarParts(members),
  length: computeTarLength(members),
});
