import type { ComponentChildren } from 'preact';
import { may, type Scope } from '../../state/principal.js';

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
