import { principal, type Scope } from '../state/principal.js';

/** Renders the scope that a key lacks, in place of the action; nothing before the key is known. */
export function MayNot({ scope, what }: { readonly scope: Scope; readonly what: string }) {
  return (
    principal.value !== null && (
      <p class="quiet">
        This key may not {what}: its scopes lack {scope}.
      </p>
    )
  );
}
