import { useEffect, useRef } from 'preact/hooks';
import type { OnRefusal } from '../state/actions.js';
import { findFindingField, focusField } from '../state/finding-fields.js';
import { useAsking } from '../state/refusals.js';
import type { Trouble } from '../state/service.js';
import { isMissing } from '../words/findings.js';
import { Banner } from './banner.js';
import { Button, type ButtonProps } from './button.js';
import { rescueFocus } from './focus.js';
import { Problem } from './problem.js';
import './action-button.css';

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
