import '../earlier.css';
import type { ComponentChildren } from 'preact';
import { formatRiskWindow } from '../../words/methodology.js';
import type { Json } from '../../words/paths.js';
import { Button, Icon } from '../controls/button.js';
import { useSchemas } from '../form/schema-form.js';

interface EarlierProps {
  /** True if the figures do not belong to the current draft. */
  readonly isEarlier: boolean;
  /** Description of the draft to which the figures belong if `isEarlier` is true. */
  readonly of?: string;
  readonly children: ComponentChildren;
}

/** Renders figures. They are marked as outdated if they do not belong to the form next to them. */
export function Earlier({ isEarlier, of = 'From the last valid definition', children }: EarlierProps) {
  return (
    <section class="earlier" aria-label={isEarlier ? of : undefined}>
      {isEarlier && <p class="earlier-word">{of}</p>}
      <div class={isEarlier ? 'stack gap-3 earlier-figures is-earlier' : 'stack gap-3 earlier-figures'}>{children}</div>
    </section>
  );
}

/**
 * Renders the number of returns from which the risk model of optimised weights was estimated.
 * @param model risk model in the terms of the optimisation
 */
export function RiskWindow({ model }: { readonly model: Json | undefined }) {
  const window = formatRiskWindow(model, useSchemas().data);
  return window === null ? null : <p class="quiet">Risk is estimated from the {window}.</p>;
}

interface FoldProps {
  readonly isFolded: boolean;
  /** Name of the content in the strip. Default: the preview. */
  readonly of?: string;
  /** Visible label of the button that opens the strip. Default: an arrow only. */
  readonly prompt?: string;
  onFold(isFolded: boolean): void;
}

/** Renders the button that folds the strip to its bar in a narrow window. */
export const Fold = ({ isFolded, of = 'the preview', prompt, onFold }: FoldProps) => (
  <span class="live-fold">
    <Button
      kind="bare"
      aria-expanded={!isFolded}
      aria-label={isFolded ? `${prompt === undefined ? '' : `${prompt}: `}Show ${of}` : `Hide ${of}`}
      onClick={() => onFold(!isFolded)}
    >
      {isFolded && prompt}
      <Icon name={isFolded ? 'up' : 'down'} />
    </Button>
  </span>
);
