import { publicationHandlers } from '#http/routes/publication.js';
import { createPublications } from '#services/publication/publications.js';
import { createSigningKeys } from '#services/stored/signing-keys.js';
import type { ViewMaker } from '#services/runs/view-maker.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Rooms } from './rooms.js';

/** Published closes, and the keys that sign them. */
export function composePublication(rooms: Rooms, { maker }: { readonly maker: ViewMaker }) {
  const terms = { ...rooms, maker, timestamp: () => formatTimestamp(rooms.now()) };
  const publications = createPublications({ ...terms, signingKeys: createSigningKeys(terms) });
  return { handlers: publicationHandlers(publications) };
}
