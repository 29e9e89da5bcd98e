import { principal, type Scope } from '../state/principal.js';

/** Says what a key lacks, where what it may not do would stand; nothing before it is known who asks. */
export function MayNot({ scope, what }: { readonly scope: Scope; readonly what: string }) {
  return (
    principal.value !== null && (
      <p class="quiet">
        This key may not {what}: its scopes lack {scope}.
      </p>
    )
  );
}
