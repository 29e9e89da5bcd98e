import { javascript } from '@codemirror/lang-javascript';
import { CodeMirror, type CodeProps } from './code-mirror.js';

const LANGUAGE = javascript();

export const ScriptEditor = (props: CodeProps) => <CodeMirror {...props} language={LANGUAGE} />;
