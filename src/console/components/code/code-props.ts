/** An error in the text. */
export interface CodeMark {
  /** Characters before it. */
  readonly at?: number;
  /** Its line from 1, if no character is known. */
  readonly line?: number;
  readonly message: string;
}

export interface CodeProps {
  /** Description of the editor for screen readers. */
  readonly label: string;
  readonly value: string;
  readonly isReadOnly?: boolean;
  /** Minimum number of visible lines. */
  readonly lines?: number;
  readonly marks?: readonly CodeMark[];
  onChange?(text: string): void;
  /** Called by Ctrl Enter. */
  readonly onRun?: () => void;
}
