import './json-document.css';

interface JsonDocumentProps {
  /** Description for screen readers. */
  readonly label: string;
  readonly value: unknown;
}

/** Renders a stored document as JSON. */
export function JsonDocument({ label, value }: JsonDocumentProps) {
  return (
    <pre class="json-document" tabIndex={0} aria-label={label} role="group">
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}
