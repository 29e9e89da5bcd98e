import '../action-button.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { tryAction, type OnRefusal, useAsking } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { hasKey, type Trouble } from '../../state/service.js';
import { isMissing } from '../../words/findings.js';
import { Banner, findFindingField, focusField, Problem } from '../feedback.js';
import { Button, type ButtonProps } from './button.js';

export function isFocusLost(): boolean {
  const active = document.activeElement;
  return active === null || active === document.body || active.matches(':disabled');
}

export function rescueFocus(): void {
  if (!isFocusLost()) return;
  const heading = document.querySelector<HTMLElement>('#main h1') ?? document.getElementById('main');
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus();
}

interface ActionButtonProps extends Omit<ButtonProps, 'onClick'> {
  /** Subject of the request. Set if a form in another place on the page shows the fields of the request. */
  readonly about?: string;
  readonly act: (onRefusal: OnRefusal) => Promise<unknown>;
}

/**
 * Renders a button that sends a request. If the service refuses the request, the reason is shown at its field, or below
 * the button if no form shows the field.
 */
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
          <Refusal trouble={trouble} />
        </div>
      )}
    </>
  );
}

/** Renders a refusal. If fields on the page show its findings, only refers to them. */
function Refusal({ trouble }: { readonly trouble: Trouble }) {
  // An unedited field does not show that its value is missing.
  const fields = trouble.findings.map((finding) => (isMissing(finding) ? undefined : findFindingField(finding)));
  const [first] = fields;
  if (first === undefined || fields.includes(undefined)) return <Problem trouble={trouble} />;
  return (
    <Banner
      kind="bad"
      title={`See the marked ${fields.length === 1 ? 'field' : 'fields'}.`}
      action={<Button onClick={() => focusField(first)}>Go to {first.label}</Button>}
    />
  );
}

interface DownloadProps {
  readonly address: string;
  readonly fileName: string;
  readonly class?: string;
  /** Name of the link for screen readers, if several links have the same text. */
  readonly label?: string;
  /** Help that a browser shows at the pointer. */
  readonly title?: string;
  readonly children: ComponentChildren;
  /** Downloads the file through the client. A plain link would send no API key. */
  read(): Promise<Uint8Array>;
}

/**
 * Renders a link to a file. Without an API key, the browser writes the file directly to disk. With a key, the console
 * first reads the file into memory.
 */
export function Download({ address, fileName, read, children, class: look, label, title }: DownloadProps) {
  return (
    <a
      class={look}
      aria-label={label}
      title={title}
      href={address}
      download={fileName}
      onClick={(event) => {
        if (!hasKey.value) return;
        event.preventDefault();
        void tryAction(async () => saveFile(fileName, await read()));
      }}
    >
      {children}
    </a>
  );
}
