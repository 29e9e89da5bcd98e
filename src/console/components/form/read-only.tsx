import type { ComponentChildren } from 'preact';
import { may, type Scope } from '../../state/principal.js';

interface ReadOnlyProps {
  /** Scope required to edit the form. */
  readonly unless: Scope;
  readonly children: ComponentChildren;
}

/** Renders a form with disabled fields and buttons if the API key lacks a scope. */
export const ReadOnly = ({ unless, children }: ReadOnlyProps) => (
  <fieldset class="form-fields" disabled={!may(unless)}>
    {children}
  </fieldset>
);
