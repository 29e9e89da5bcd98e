import type { ComponentChildren } from 'preact';
import { may, principal, type Scope } from '../state/service.js';

interface ReadOnlyProps {
  /** Scope required to edit the form. */
  readonly unless: Scope;
  readonly children: ComponentChildren;
}

/** Renders a form. If the API key lacks a scope, its fields and buttons are disabled. */
export const ReadOnly = ({ unless, children }: ReadOnlyProps) => (
  <fieldset class="form-fields" disabled={!may(unless)}>
    {children}
  </fieldset>
);

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
