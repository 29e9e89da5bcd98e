import { principal, type Scope } from '../state/principal.js';

/**
 * Renders the missing scope of the API key in place of an action. Renders nothing before the scopes of the key are
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
