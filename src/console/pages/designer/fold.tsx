import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';

interface FoldProps {
  readonly isFolded: boolean;
  /** Name of the content in the strip. Default: the preview. */
  readonly of?: string;
  onFold(isFolded: boolean): void;
}

/** Renders the button that folds the strip to its bar in a narrow window. */
export const Fold = ({ isFolded, of = 'the preview', onFold }: FoldProps) => (
  <span class="live-fold">
    <Button
      kind="bare"
      aria-expanded={!isFolded}
      aria-label={isFolded ? `Show ${of}` : `Hide ${of}`}
      onClick={() => onFold(!isFolded)}
    >
      <Icon name={isFolded ? 'up' : 'down'} />
    </Button>
  </span>
);
