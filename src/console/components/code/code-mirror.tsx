import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { CodeMark, CodeProps } from './code-props.js';
import { HIGHLIGHTS, THEME } from './theme.js';
import './code.css';

interface CodeMirrorProps extends CodeProps {
  /**
   * Language for highlighting and completion. As long as the language does not change, this must be the same object.
   */
  readonly language: Extension;
}

/**
 * Renders an editor for source text. Its styles are in a shadow root, because the content security policy allows no
 * style elements. Its effects run together with the render. An effect after the paint could overwrite text that was
 * just typed.
 */
export function CodeMirror(props: CodeMirrorProps) {
  const { value, language, marks = [] } = props;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const labelCompartment = useRef(new Compartment()).current;
  useLayoutEffect(() => {
    const { current } = host;
    const root = current!.shadowRoot ?? current!.attachShadow({ mode: 'open' }); // the effect runs after the first render, so the element exists
    const state = EditorState.create({
      doc: value,
      extensions: [...createExtensions(latest), labelCompartment.of(language)],
    });
    const view = new EditorView({ root, parent: root, state });
    editor.current = view;
    return () => view.destroy();
  }, []);
  useLayoutEffect(() => {
    const view = editor.current;
    if (view === null || view.state.doc.toString() === value) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [value]);
  useLayoutEffect(() => editor.current?.dispatch({ effects: labelCompartment.reconfigure(language) }), [language]);
  const marksJson = JSON.stringify(marks);
  useLayoutEffect(() => {
    const view = editor.current;
    if (view === null) return;
    const diagnostics = marks.flatMap((mark) => createDiagnostics(view.state, mark));
    view.dispatch(setDiagnostics(view.state, diagnostics));
    const [first] = diagnostics;
    if (first !== undefined) view.dispatch({ selection: { anchor: first.from }, scrollIntoView: true });
  }, [marksJson]);
  return <div ref={host} class="code-editor" />;
}

function createExtensions(latest: { readonly current: CodeMirrorProps }): readonly Extension[] {
  const { label, lines = 8, isReadOnly = false } = latest.current;
  const run = () => {
    latest.current.onRun?.();
    return latest.current.onRun !== undefined;
  };
  return [
    keymap.of([{ key: 'Mod-Enter', run }]),
    lineNumbers(),
    lintGutter(),
    history(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ icons: false }),
    syntaxHighlighting(HIGHLIGHTS),
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
    EditorState.readOnly.of(isReadOnly),
    EditorView.updateListener.of(({ docChanged, state }) => {
      const text = state.doc.toString();
      if (docChanged && text !== latest.current.value) latest.current.onChange?.(text);
    }),
    THEME,
    EditorView.theme({ '.cm-content, .cm-gutter': { minHeight: `${lines * LINE_HEIGHT + 2 * PADDING}px` } }),
  ];
}

/** Height of a line and padding above the first line, in pixels. The theme has the same values. */
const LINE_HEIGHT = 20;
const PADDING = 6;

/** Creates the diagnostic of an error. It marks the word at the reported position, or the reported line. */
function createDiagnostics({ doc }: EditorState, { at, line, message }: CodeMark): readonly Diagnostic[] {
  if (line !== undefined) {
    if (line < 1 || line > doc.lines) return [];
    const { from, to } = doc.line(line);
    return [{ from, to, severity: 'error', message }];
  }
  if (at === undefined || at > doc.length) return [];
  const word = /^\w+/.exec(doc.sliceString(at, doc.lineAt(at).to))?.[0].length ?? 1;
  return [{ from: at, to: Math.min(doc.length, at + word), severity: 'error', message }];
}
