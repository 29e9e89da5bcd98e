import './control.css';
import './note-input.css';

/** Longest note of a version, as the service has it. */
const NOTE_MAX = 500;

interface NoteInputProps {
  readonly value: string;
  onChange(value: string): void;
}

/** Why a document is written: kept beside the version that is made. */
export function NoteInput({ value, onChange }: NoteInputProps) {
  return (
    <input
      class="control note-input"
      aria-label="Why, for the list of versions"
      placeholder="Why (optional)"
      maxLength={NOTE_MAX}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
