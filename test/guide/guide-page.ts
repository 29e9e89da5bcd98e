import { readFileSync } from 'node:fs';

/** A code block of the guide that is executed, and the excerpt of a response that follows it. */
export interface Example {
  /** Line of the block's fence in the page, for messages. */
  readonly line: number;
  readonly language: string;
  /** Expected HTTP statuses, one per call. For a script it is the exit status, which is below 100. */
  readonly expected: readonly number[];
  readonly text: string;
  /** JSON value that the last response must contain. */
  readonly excerpt: unknown;
}

export interface GuideSource {
  readonly file: string;
  readonly text: string;
  readonly examples: readonly Example[];
}

const FOLDER = 'data/guide/';

/** Returns the pages of the guide in reading order. The first page links to all others. */
export function readGuideSources(): GuideSource[] {
  const readme = read('README.md');
  const otherPages = [...new Set([...readme.matchAll(/\]\(([a-z-]+\.md)\)/g)].map((match) => match[1]!))];
  return ['README.md', ...otherPages].map((file) => {
    const text = read(file);
    return { file, text, examples: listExamples(file, text) };
  });
}

const read = (file: string) => readFileSync(FOLDER + file, 'utf8');

/** Languages of blocks that are not executed: formulas, responses and shapes. */
const SHOWN_LANGUAGES = new Set(['text', 'json']);

/**
 * Returns the executed examples of a page. @throws Error if a block has neither a mark that it is only shown nor an
 * expected result
 */
function listExamples(file: string, text: string): Example[] {
  const examples: Example[] = [];
  for (const match of text.matchAll(/^```(\S*)([^\n]*)\n(.*?)^```$/gms)) {
    const line = text.slice(0, match.index).split('\n').length;
    const [, language = '', words = '', body = ''] = match;
    const expected = words.trim().split(/\s+/).filter(Boolean).map(Number);
    if (language === 'json') {
      const example = examples.pop();
      if (example === undefined) throw new Error(`${file}:${line}: an answer without a question`);
      examples.push({ ...example, excerpt: JSON.parse(body) });
    } else if (expected.length > 0) {
      examples.push({ line, language, expected, text: body, excerpt: undefined });
    } else if (!SHOWN_LANGUAGES.has(language)) {
      throw new Error(`${file}:${line}: a block of ${language || 'no language'} without an expected status`);
    }
  }
  return examples;
}
