import type { ComponentChildren } from 'preact';
import { may, type Scope } from '../../state/principal.js';

interface ReadOnlyProps {
  /** Scope of the writes of a form. */
  readonly unless: Scope;
  readonly children: ComponentChildren;
}

/** Renders a form whose fields and buttons are disabled for a key that lacks a scope. */
export const ReadOnly = ({ unless, children }: ReadOnlyProps) => (
  <fieldset class="form-fields" disabled={!may(unless)}>
    {children}
  </fieldset>
);
