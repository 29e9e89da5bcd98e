import './code.css';
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface CodeMark {
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

/** Token colours as CSS variables of the console. Each colour has a contrast ratio of at least 4.5 in both themes. */
const HIGHLIGHTS = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--up)' },
  { tag: tags.number, color: 'var(--warning)' },
  { tag: tags.comment, color: 'var(--text-third)', fontStyle: 'italic' },
  { tag: [tags.operator, tags.punctuation], color: 'var(--text-second)' },
  { tag: [tags.function(tags.variableName), tags.standard(tags.name)], color: 'var(--down)' },
]);

/** Styles of the editor, its gutter, and its pop-up lists and messages. */
const THEME = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--ground-raised)', fontSize: 'var(--size)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px', maxHeight: '60vh' },
  '.cm-content': { padding: '6px 0', caretColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--ground-sunken)',
    color: 'var(--text-third)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--ground-selected)' },
  '.cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--bad-ground)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--down)',
    textUnderlineOffset: '4px',
  },
  // The default marker of the library is a data URL. The content security policy does not allow it.
  '.cm-lint-marker-error': {
    content: 'normal',
    width: '8px',
    height: '8px',
    borderRadius: '50%',
    backgroundColor: 'var(--down)',
  },
  '.cm-gutter-lint': { width: '16px' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    backgroundColor: 'var(--ground-raised)',
    color: 'var(--text)',
    boxShadow: 'var(--shadow)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '260px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
  '.cm-completionDetail': { marginLeft: '12px', fontStyle: 'normal', opacity: '0.8' },
  '.cm-completionInfo': { fontFamily: 'var(--font)', maxWidth: '320px' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--down)', fontFamily: 'var(--font)', maxWidth: '480px' },
});

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
  return <div ref={host} class="raised code-editor" />;
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
