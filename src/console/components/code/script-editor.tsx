import { javascript } from '@codemirror/lang-javascript';
import { CodeMirror } from './code-mirror.js';
import type { CodeProps } from './code-props.js';

const LANGUAGE = javascript();

/** Renders a JavaScript editor. */
export const ScriptEditor = (props: CodeProps) => <CodeMirror {...props} language={LANGUAGE} />;
