/** An error in the source text. */
export interface CodeMark {
  /** Offset of the error in characters, from 0. */
  readonly at?: number;
  /** Line number from 1. Used if the offset is unknown. */
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
  /** Called when Ctrl+Enter is pressed. */
  readonly onRun?: () => void;
}
