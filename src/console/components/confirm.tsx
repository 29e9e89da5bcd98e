import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from './button.js';
import './dialog.css';

interface ConfirmProps {
  readonly title: string;
  /** Label of the button that confirms. */
  readonly action: string;
  readonly children?: ComponentChildren;
  onConfirm(): void;
  onClose(): void;
}

/** Renders a dialog that asks for confirmation of an action that cannot be undone. Escape closes the dialog. */
export function Confirm({ title, action, children, onConfirm, onClose }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
      <div class="dialog-actions">
        <Button onClick={onClose}>Keep</Button>
        <Button
          kind="danger"
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {action}
        </Button>
      </div>
    </dialog>
  );
}
