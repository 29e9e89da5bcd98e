import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import './dialog.css';

interface FormDialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  onClose(): void;
}

/** Renders a form in a dialog. Escape closes the dialog. */
export function FormDialog({ title, children, onClose }: FormDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog is-wide" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
