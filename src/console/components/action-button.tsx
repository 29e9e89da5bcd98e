import { useEffect, useRef } from 'preact/hooks';
import type { OnRefusal } from '../state/actions.js';
import { useAsking } from '../state/refusals.js';
import { Button, type ButtonProps } from './button.js';
import { rescueFocus } from './focus.js';
import { Problem } from './problem.js';
import './action-button.css';

interface ActionButtonProps extends Omit<ButtonProps, 'onClick'> {
  /** Subject of the request. Set if a form in another place on the page shows the fields of the request. */
  readonly about?: string;
  readonly act: (onRefusal: OnRefusal) => Promise<unknown>;
}

/** Renders a button that sends a request. If the service refuses the request, the reason is shown below the button. */
export function ActionButton({ act, about = '', ...button }: ActionButtonProps) {
  const { trouble, ask } = useAsking();
  const pressedButton = useRef<HTMLElement | null>(null);
  // The result of the request may replace the button. The focus then moves to the heading of the page.
  useEffect(
    () => () => {
      if (pressedButton.current === null || document.activeElement !== pressedButton.current) return;
      setTimeout(rescueFocus);
    },
    [],
  );
  return (
    <>
      <Button
        {...button}
        onClick={({ currentTarget }) => {
          pressedButton.current = currentTarget;
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
