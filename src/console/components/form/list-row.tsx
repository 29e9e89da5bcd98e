import type { ComponentChildren } from 'preact';
import { Badge } from '../badge.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';

/** Actions of a list on a row. */
export interface RowActions {
  readonly isDragged: boolean;
  /** True if the form of the row is hidden. */
  readonly isFolded: boolean;
  /** Null if the row cannot be folded. */
  readonly onFold: (() => void) | null;
  onMove(to: number): void;
  onRemove(): void;
  onDrag(position: number | null): void;
  onDrop(): void;
}

interface ListRowProps extends RowActions {
  readonly id?: string;
  /** Positions of this row and of the last row of the list. */
  readonly at: number;
  readonly last: number;
  /** Name of the row in button labels. */
  readonly name: string;
  readonly title: string;
  /** Text next to the title of the folded row. */
  readonly summary: string;
  /** Number of errors shown in the heading of the row. */
  readonly errors: number;
  /** True if the row contradicts other rows. */
  readonly isInConflict?: boolean;
  readonly children: ComponentChildren;
}

/**
 * Renders a row of a list: a heading, and a form unless the row is folded. The row is moved by dragging or by Alt with
 * an arrow key.
 */
export function ListRow({ id, isDragged, onDrop, children, ...head }: ListRowProps) {
  const { at, onMove } = head;
  return (
    <li
      id={id}
      class={`row${isDragged ? ' is-dragged' : ''}${head.isFolded ? ' is-folded' : ''}`}
      tabIndex={id === undefined ? undefined : -1}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      onKeyDown={(event) => {
        if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
        event.preventDefault();
        onMove(event.key === 'ArrowUp' ? at - 1 : at + 1);
      }}
    >
      <Line {...head} />
      {children}
    </li>
  );
}

function Line(props: Omit<ListRowProps, 'id' | 'isDragged' | 'onDrop' | 'children'>) {
  const { at, last, name, title, summary, errors, isInConflict, isFolded, onFold, onMove, onRemove, onDrag } = props;
  return (
    <header>
      <span
        class="row-handle"
        draggable
        onDragStart={() => onDrag(at)}
        onDragEnd={() => onDrag(null)}
        aria-hidden="true"
      >
        ⠿
      </span>
      <strong>
        {at + 1}. {title}
      </strong>
      {isFolded && <span class="row-words quiet">{summary}</span>}
      {errors > 0 && <Badge kind="bad">{errors}</Badge>}
      {isInConflict === true && <Badge kind="bad">in conflict</Badge>}
      <span class="row-buttons">
        {onFold !== null && (
          <Button
            kind="bare"
            aria-label={`${isFolded ? 'Open' : 'Fold'} ${name}`}
            aria-expanded={!isFolded}
            onClick={onFold}
          >
            <Icon name="edit" />
          </Button>
        )}
        <Button kind="bare" aria-label={`Move ${name} up`} disabled={at === 0} onClick={() => onMove(at - 1)}>
          <Icon name="up" />
        </Button>
        <Button kind="bare" aria-label={`Move ${name} down`} disabled={at === last} onClick={() => onMove(at + 1)}>
          <Icon name="down" />
        </Button>
        <Button kind="bare" aria-label={`Remove ${name}`} onClick={onRemove}>
          <Icon name="close" />
        </Button>
      </span>
    </header>
  );
}
