import '../control.css';
import '../decide-many.css';
import '../note-input.css';
import { useState } from 'preact/hooks';
import type { OnRefusal } from '../../state/actions.js';
import { createTrouble, notifyChange } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { countValues } from '../../words/numbers.js';
import { ActionButton } from './action-button.js';
import type { ButtonProps } from './button.js';

/** Maximum length of a comment on a decision, as in the contract. */
const COMMENT_MAX = 2000;

interface CommentInputProps {
  /** Default: `Comment`. */
  readonly label?: string;
  readonly isRequired?: boolean;
  readonly value: string;
  onChange(value: string): void;
}

export function CommentInput({ label = 'Comment', isRequired = false, value, onChange }: CommentInputProps) {
  return (
    <label class="pile gap-1 comment-input">
      {isRequired ? (
        <strong>
          {label} <span class="field-required">*</span>
        </strong>
      ) : (
        <span class="quiet">{label}</span>
      )}
      <textarea
        class="control"
        rows={2}
        maxLength={COMMENT_MAX}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

/** Converts a comment to its value in the API. An empty text becomes null. */
export const findComment = (text: string): string | null => (text.trim() === '' ? null : text);

interface ManyDecision<D extends string> {
  readonly decision: D;
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
    <div class="raised decide-many flow gap-3 form-actions is-wide">
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

/** Maximum length of a version note, as in the contract. */
const NOTE_MAX = 500;

interface NoteInputProps {
  readonly value: string;
  onChange(value: string): void;
}

/** Renders an input for the reason of a change, which is stored with the new version. */
export function NoteInput({ value, onChange }: NoteInputProps) {
  return (
    <input
      class="control note-input"
      aria-label="Reason for the change, shown in the list of versions"
      placeholder="Reason (optional)"
      maxLength={NOTE_MAX}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
