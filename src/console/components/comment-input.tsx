import './control.css';

/** Maximum length of a comment on a decision, as in the contract. */
export const COMMENT_MAX = 2000;

interface CommentInputProps {
  /** Default: `Comment`. */
  readonly label?: string;
  readonly isRequired?: boolean;
  readonly value: string;
  onChange(value: string): void;
}

/** Renders an input for a comment on a decision. */
export function CommentInput({ label = 'Comment', isRequired = false, value, onChange }: CommentInputProps) {
  return (
    <label class="comment-input">
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
