import '../dialog.css';
import '../side-panel.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button, Icon } from '../controls/button.js';

interface ConfirmProps {
  readonly title: string;
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
    <dialog ref={dialog} class="pile raised gap-3 dialog" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
      <div class="gap-2 dialog-actions">
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

interface DeleteButtonProps {
  readonly subject: string;
  /** Default: Delete. */
  readonly label?: string;
  readonly kind?: 'plain' | 'danger';
  /** Effect of the deletion on other documents. */
  readonly children?: ComponentChildren;
  onConfirm(): void;
}

/** Renders a button that deletes after a confirmation. */
export function DeleteButton({ subject, label = 'Delete', kind = 'danger', children, onConfirm }: DeleteButtonProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button kind={kind} onClick={() => setAsking(true)}>
        {label}
      </Button>
      {isAsking && (
        <Confirm title={`Delete ${subject}?`} action="Delete" onConfirm={onConfirm} onClose={() => setAsking(false)}>
          {children}
        </Confirm>
      )}
    </>
  );
}

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
    <dialog ref={dialog} class="pile raised gap-3 dialog is-wide" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

interface SidePanelProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Content that stays visible below the scrolling content, such as the buttons of a decision. */
  readonly footer?: ComponentChildren;
  readonly children: ComponentChildren;
}

/**
 * Renders a panel next to the page, with details of one item. Escape closes the panel, and the focus goes back to where
 * it was.
 */
export function SidePanel({ title, onClose, footer, children }: SidePanelProps) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <aside
      ref={panel}
      class="raised side-panel"
      aria-label={title}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
      }}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" class="pile second panel-close" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="pile gap-4 panel-body">{children}</div>
      {footer !== undefined && <div class="pile gap-2 panel-footer">{footer}</div>}
    </aside>
  );
}
