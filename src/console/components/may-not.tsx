import { principal, type Scope } from '../state/principal.js';

/**
 * Renders the scope that the API key lacks, in place of an action. Renders nothing until the scopes of the key are
 * known.
 */
export function MayNot({ scope, what }: { readonly scope: Scope; readonly what: string }) {
  return (
    principal.value !== null && (
      <p class="quiet">
        This key may not {what}: its scopes lack {scope}.
      </p>
    )
  );
}
