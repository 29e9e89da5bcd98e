import { useState } from 'preact/hooks';
import type { OnRefusal } from '../state/actions.js';
import { notifyChange } from '../state/resource.js';
import { createTrouble } from '../state/service.js';
import { showToast } from '../state/toasts.js';
import { countValues } from '../words/numbers.js';
import { ActionButton } from './action-button.js';
import type { ButtonProps } from './button.js';
import { findComment, COMMENT_MAX } from './comment-input.js';
import './decide-many.css';

interface ManyDecision<D extends string> {
  readonly decision: D;
  /** Label of the button. */
  readonly text: string;
  /** Participle for the message, such as `confirmed` in `3 actions confirmed`. */
  readonly done: string;
  readonly kind: NonNullable<ButtonProps['kind']>;
  readonly needsComment?: boolean;
}

interface DecideManyProps<D extends string> {
  readonly keys: readonly string[];
  readonly noun: string;
  readonly decisions: readonly ManyDecision<D>[];
  decide(key: string, decision: D, comment: string | null): Promise<unknown>;
  /** Called with the keys for which the service refused the decision. */
  onDone(refused: readonly string[]): void;
}

/**
 * Renders buttons that apply one decision and one comment to all selected rows. Rows that the service refuses stay
 * selected, and the reasons are shown below the button. The buttons are disabled until a row is selected.
 */
export function DecideMany<D extends string>({ keys, noun, decisions, decide, onDone }: DecideManyProps<D>) {
  const [comment, setComment] = useState('');
  const act =
    ({ decision, done }: ManyDecision<D>) =>
    async (onRefusal: OnRefusal) => {
      const refusals: { readonly key: string; readonly message: string }[] = [];
      let requestedCount = 0;
      for (const key of keys)
        await decide(key, decision, findComment(comment)).catch((thrown: unknown) => {
          const { code, message } = createTrouble(thrown);
          if (code === 'APPROVAL_REQUIRED') requestedCount++;
          else refusals.push({ key, message });
        });
      const count = keys.length - refusals.length - requestedCount;
      if (count > 0) showToast('good', `${countValues(count, noun)} ${done}.`);
      if (requestedCount > 0)
        showToast('info', `${countValues(requestedCount, noun)} wait for approval.`, {
          address: '/console/approvals',
          text: 'Approvals',
        });
      if (refusals.length === 0) setComment('');
      else onRefusal(createTrouble(new Error(refusals.map(({ key, message }) => `${key}: ${message}`).join(' '))));
      onDone(refusals.map(({ key }) => key));
      notifyChange();
    };
  return (
    <div class="decide-many form-actions is-wide">
      <span class="quiet">{countValues(keys.length, noun)} selected</span>
      <textarea
        class="control"
        aria-label="Comment"
        placeholder="Comment"
        rows={1}
        maxLength={COMMENT_MAX}
        value={comment}
        onInput={(event) => setComment(event.currentTarget.value)}
      />
      {decisions.map((one) => (
        <ActionButton
          key={one.decision}
          kind={one.kind}
          disabled={keys.length === 0 || (one.needsComment === true && comment.trim() === '')}
          act={act(one)}
        >
          {one.text} {keys.length === 0 ? 'selected' : keys.length}
        </ActionButton>
      ))}
    </div>
  );
}
