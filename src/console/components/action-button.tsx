import { useEffect, useRef } from 'preact/hooks';
import type { OnRefusal } from '../state/actions.js';
import { useAsking } from '../state/refusals.js';
import { Button, type ButtonProps } from './button.js';
import { rescueFocus } from './focus.js';
import { Problem } from './problem.js';
import './action-button.css';

interface ActionButtonProps extends Omit<ButtonProps, 'onClick'> {
  /** Subject of the request, for a form elsewhere that shows its fields. */
  readonly about?: string;
  readonly act: (onRefusal: OnRefusal) => Promise<unknown>;
}

/** Button that sends a request; a refusal shows its reason below the button. */
export function ActionButton({ act, about = '', ...button }: ActionButtonProps) {
  const { trouble, ask } = useAsking();
  const pressed = useRef<HTMLElement | null>(null);
  // The result may replace the button: the focus stays on the page.
  useEffect(
    () => () => {
      if (pressed.current === null || document.activeElement !== pressed.current) return;
      setTimeout(rescueFocus);
    },
    [],
  );
  return (
    <>
      <Button
        {...button}
        onClick={({ currentTarget }) => {
          pressed.current = currentTarget;
          void ask(about, act);
        }}
      />
      {trouble !== null && (
        <div class="refused">
          <Problem trouble={trouble} />
        </div>
      )}
    </>
  );
}
