import { spawnSync } from 'node:child_process';

/** Partial lines and the expected completions of their last word. */
export const COMPLETED: readonly (readonly [line: string, words: readonly string[]])[] = [
  ['impor', ['import', 'import-risk']],
  ['index sho', ['show']],
  ['backtest EVEN --if-', ['--if-stale']],
  ['weights EVEN --c', ['--csv']],
  ['export weights --ind', ['--index']],
  ['export constit', ['constituents']],
  ['export weights --format ', ['arrow', 'csv', 'json', 'parquet', 'xlsx']],
  ['export weights --format=x', ['xlsx']],
  ['import ./prices --on-duplicate ', ['first', 'identical', 'last', 'refuse']],
  ['inspect ./prices --adjustment s', ['splits']],
  ['inspect ./prices --thousands n', ['none']],
  ['inspect ./prices --encoding utf-16', ['utf-16be', 'utf-16le']],
  ['backtest EV', ['EVEN']],
  ['index show O', ['ODD']],
  ['activate ', ['desk']],
  ['export weights --index ', ['EVEN', 'ODD']],
  ['data prices A', ['AAPL']],
  ['index explain EVEN ', ['AAPL', 'EVEN', 'MSFT', 'ODD']],
  ['risk model --identifiers ', ['AAPL', 'MSFT']],
  ['completion ', ['bash', 'fish', 'zsh']],
  ['keys re', ['revoke']],
  ['serve --drain', ['--drain-ms']],
  ['serve --log-level w', ['warn']],
];

/** Completions after a comma, in shells other than zsh. In zsh, its own functions complete lists. */
export const COMPLETED_IN_A_LIST: typeof COMPLETED = [
  ['index explain EVEN AAPL,M', ['AAPL,MSFT']],
  ['risk model --identifiers AAPL,', ['AAPL,AAPL', 'AAPL,MSFT']],
  ['risk model --identifiers=AAPL,MSFT,A', ['AAPL,MSFT,AAPL']],
];

export const isInstalled = (shell: string) => spawnSync(shell, ['-c', ':']).status === 0;

/**
 * Returns the completions of a shell for the last word of each line. The script of zsh runs in bash if zsh is not
 * installed.
 */
export function listCompletions(shell: 'bash' | 'zsh' | 'fish', script: string, lines: readonly string[]): string[][] {
  const shellScript = lines.map((line) => `${QUESTIONS[shell](line)}\nprintf '%s\\n' --next--\n`).join('');
  const interpreter = shell === 'zsh' && !isInstalled('zsh') ? 'bash' : shell;
  const { stdout, stderr } = spawnSync(
    interpreter,
    [NO_START_UP[interpreter], '-c', `${SHELL_PRELUDES[shell]}\n${script}\n${shellScript}`],
    {
      encoding: 'utf8',
    },
  );
  if (stderr !== '') throw new Error(stderr);
  return stdout
    .split('--next--\n')
    .slice(0, -1)
    .map((words, i) => completeLine(lines[i]!, words));
}

/**
 * Returns the words that start with the last word of a line. In zsh a function outside the script filters them. Flags
 * are included only after a dash.
 */
function completeLine(line: string, words: string): string[] {
  const typedWord = line.split(/[ =]/).at(-1)!;
  const offers = words.split('\n').map((word) => word.split('\t')[0]!.replace(/^--[a-z-]+=/, ''));
  const isOffered = (word: string) =>
    word !== '' && word.startsWith(typedWord) && (typedWord !== '' || !word.startsWith('-'));
  return offers.filter(isOffered).toSorted();
}

const NO_START_UP = { bash: '--norc', zsh: '-f', fish: '--no-config' } as const;

/** Replacements for the completion functions of zsh. Words count from 1 in zsh and from 0 in bash. */
const OF_ZSH = `
compadd() { shift; printf '%s\\n' "$@"; }
compset() { :; }
compdef() { :; }
_files() { :; }
`;

/** Shell function that replaces the command that lists ids. */
const TELLS_IDS = `divisor() { if [ "$3" = indices ]; then printf 'EVEN\\nODD\\n'; elif [ "$3" = names ]; then printf 'AAPL\\nMSFT\\n'; else echo desk; fi; }`;

const SHELL_PRELUDES = {
  bash: TELLS_IDS,
  zsh: OF_ZSH + TELLS_IDS,
  fish: `function divisor; if test $argv[3] = indices; printf 'EVEN\\nODD\\n'; else if test $argv[3] = names; printf 'AAPL\\nMSFT\\n'; else; echo desk; end; end`,
} as const;

const QUESTIONS: Readonly<Record<'bash' | 'zsh' | 'fish', (line: string) => string>> = {
  bash(line) {
    const words = line.replace('=', ' = ').split(' ');
    const quotedWords = words.map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(divisor ${quotedWords}); COMP_CWORD=${words.length}; _divisor; printf '%s\\n' "\${COMPREPLY[@]}"`;
  },
  zsh(line) {
    const words = line.split(' ');
    const quotedWords = words.map((word) => `'${word}'`).join(' ');
    return `words=(divisor ${quotedWords}); [ -n "$ZSH_VERSION" ] || words=('' "\${words[@]}"); CURRENT=${words.length + 1}; PREFIX='${words.at(-1)}'; _divisor`;
  },
  fish: (line) => `complete -C 'divisor ${line}'`,
};
