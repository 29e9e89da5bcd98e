import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** Token colours as CSS variables of the console. Each colour has a contrast ratio of at least 4.5 in both themes. */
export const HIGHLIGHTS = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--up)' },
  { tag: tags.number, color: 'var(--warning)' },
  { tag: tags.comment, color: 'var(--text-third)', fontStyle: 'italic' },
  { tag: [tags.operator, tags.punctuation], color: 'var(--text-second)' },
  { tag: [tags.function(tags.variableName), tags.standard(tags.name)], color: 'var(--down)' },
]);

/** Styles of the editor, its gutter, and its pop-up lists and messages. */
export const THEME = EditorView.theme({
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
