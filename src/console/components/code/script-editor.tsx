import { javascript } from '@codemirror/lang-javascript';
import { CodeMirror } from './code-mirror.js';
import type { CodeProps } from './code-props.js';

const LANGUAGE = javascript();

/** Renders an editor of JavaScript. */
export const ScriptEditor = (props: CodeProps) => <CodeMirror {...props} language={LANGUAGE} />;
