import type { DocumentVersion } from '#clients/typescript/divisor.js';
import { formatMoment } from '../../words/dates.js';

/** Renders the date, author and reason of a version. A narrow table hides these columns. */
export const VersionFacts = ({ version: { at, author, note, action } }: { readonly version: DocumentVersion }) => (
  <p>
    {/* The reason of a restoration already says so. */}
    {`${action === 'restored' ? 'Saved' : action.charAt(0).toUpperCase() + action.slice(1)} ${formatMoment(at, true)} by ${author}`}
    {note === null ? <span class="quiet">, without a reason.</span> : `: ${note}`}
  </p>
);
