import { useEffect, useState } from 'preact/hooks';
import { isObject, type Json } from '../../words/paths.js';
import { useWorkshop } from './draft.js';

/** Renders an editor of the definition as JSON, synchronised with the forms. */
export function JsonEditor() {
  const { draft } = useWorkshop();
  const documentJson = JSON.stringify(draft.document.value, null, 2);
  const [text, setText] = useState(documentJson);
  const problem = draft.unread.value;
  const setProblem = (trouble: string | null) => {
    draft.unread.value = trouble;
  };
  // If the editor is removed, text that could not be applied to the draft is lost.
  useEffect(() => () => setProblem(null), []);
  useEffect(() => {
    if (readJson(text).json !== documentJson) {
      setText(documentJson);
      setProblem(null);
    }
  }, [documentJson]);
  return (
    <>
      <textarea
        class="control json-editor"
        aria-label="Definition as JSON"
        aria-invalid={problem !== null}
        spellcheck={false}
        value={text}
        onInput={(event) => {
          const typedText = event.currentTarget.value;
          setText(typedText);
          const { value, trouble } = readJson(typedText);
          setProblem(trouble);
          if (isObject(value)) draft.replace(value);
        }}
      />
      {problem !== null && (
        <p class="down" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

interface ParseResult {
  readonly value?: Json;
  /** Text in the format of the editor. */
  readonly json?: string;
  readonly trouble: string | null;
}

function readJson(text: string): ParseResult {
  try {
    const value = JSON.parse(text) as Json;
    if (!isObject(value)) return { trouble: 'The definition must be an object.' };
    return { value, json: JSON.stringify(value, null, 2), trouble: null };
  } catch (failure) {
    return { trouble: failure instanceof Error ? failure.message : 'This is not valid JSON.' };
  }
}
