import './control.css';
import './note-input.css';

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
