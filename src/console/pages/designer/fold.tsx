import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';

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
