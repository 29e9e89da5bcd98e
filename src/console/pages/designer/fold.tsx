import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';

interface FoldProps {
  readonly isFolded: boolean;
  onFold(isFolded: boolean): void;
}

/** Renders the button of a narrow window that folds the strip to its bar. */
export const Fold = ({ isFolded, onFold }: FoldProps) => (
  <span class="live-fold">
    <Button
      kind="bare"
      aria-expanded={!isFolded}
      aria-label={isFolded ? 'Show the preview' : 'Hide the preview'}
      onClick={() => onFold(!isFolded)}
    >
      <Icon name={isFolded ? 'up' : 'down'} />
    </Button>
  </span>
);
