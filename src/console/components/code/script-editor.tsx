import { javascript } from '@codemirror/lang-javascript';
import { CodeMirror, type CodeProps } from './code-mirror.js';

const LANGUAGE = javascript();

/** Renders a JavaScript editor. */
export const ScriptEditor = (props: CodeProps) => <CodeMirror {...props} language={LANGUAGE} />;
