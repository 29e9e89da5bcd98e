import { UsageError } from '../usage.js';
import { COMMON_OPTIONS, type Flag, type Grammar } from './command-line.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const COMPLETION_HELP = [
  'divisor completion: Print a script that makes a shell complete commands, flags and their values.\n',
  `Usage: divisor completion ${SHELLS.join('|')}\n`,
  'Examples\n  source <(divisor completion bash)\n  divisor completion zsh > ~/.zfunc/_divisor\n  divisor completion fish > ~/.config/fish/completions/divisor.fish\n',
].join('\n');

/** Kinds of ids that shell completion requests. */
export type IdKind = 'indices' | 'stores' | 'names';

/** Kind of id that a word or a flag accepts, by the name of the word or flag. */
const ID_PLACEHOLDERS: Readonly<Record<string, IdKind>> = {
  INDEX: 'indices',
  INDICES: 'indices',
  STORE: 'stores',
  NAME: 'names',
  NAMES: 'names',
  index: 'indices',
  benchmark: 'indices',
  identifiers: 'names',
};

/**
 * Returns the placeholder for ids if a word or flag accepts ids; otherwise nothing. The completion script replaces it
 * with ids.
 */
const formatIdPlaceholder = (name: string) =>
  Object.hasOwn(ID_PLACEHOLDERS, name) ? [`@${ID_PLACEHOLDERS[name]!}`] : [];

/**
 * Formats words for a script. A placeholder for ids becomes a call that the shell makes when the user completes a word.
 * @param asked text before and after that call
 */
const formatWords = (words: readonly string[], [before, after]: readonly [string, string]) =>
  words
    .map((word) =>
      word.startsWith('@') ? `${before}divisor completion ids ${word.slice(1)} 2>/dev/null${after}` : word,
    )
    .join(' ');

/** Words and flags that may follow a command. */
export interface WordCompletion {
  readonly words: readonly string[];
  /** Accepted values by flag; empty if any value is accepted, null if the flag has no value. */
  readonly flags: Readonly<Record<string, readonly string[] | null>>;
}

/** Completions by command. A command of a family has two words. */
export type Completions = Readonly<Record<string, WordCompletion>>;

/** Words that need no quoting in a shell. */
const UNQUOTED_WORD = /^[\w.,:@%+-]+$/;

/**
 * Derives the completion of a command from its grammar. @param extra flags in addition to those of the grammar and
 * `--help`
 */
export function deriveCompletion(
  { words = [], flags = {} }: Grammar,
  extra: readonly (keyof typeof COMMON_OPTIONS)[],
): WordCompletion {
  const listValues = (flag: string, { type, choices = [] }: Pick<Flag, 'choices'> & { readonly type?: string }) =>
    type === 'boolean'
      ? null
      : [...choices.filter((choice) => UNQUOTED_WORD.test(choice)), ...formatIdPlaceholder(flag)];
  const allFlags = [...Object.entries(flags), ...extra.map((flag) => [flag, COMMON_OPTIONS[flag]] as const)];
  return {
    words: words.flatMap(({ name, choices = [] }) => [...choices, ...formatIdPlaceholder(name)]),
    flags: {
      ...Object.fromEntries(allFlags.map(([flag, form]) => [`--${flag}`, listValues(flag, form)])),
      '--help': null,
    },
  };
}

/**
 * Derives the completion of a command from its help text.
 * @param knownFlags flags of several commands, with their values
 */
export function deriveCompletionFromHelp(
  name: string,
  help: string,
  knownFlags: WordCompletion['flags'],
): WordCompletion {
  const flags = [...(help.match(/--[a-z][a-z-]*/g) ?? []), '--help'];
  const start = `divisor ${name} `;
  const words = help.split('\n').flatMap((line) => {
    const usage = line.replace('Usage: ', '');
    const nextWord = usage.startsWith(start) ? usage.slice(start.length).split(' ')[0]! : '';
    return /^[a-z|]+$/.test(nextWord) ? nextWord.split('|') : [];
  });
  return {
    words: [...new Set(words)],
    flags: Object.fromEntries(flags.map((flag) => [flag, knownFlags[flag] ?? null])),
  };
}

/** Runs `divisor completion SHELL`. @throws UsageError */
export function runCompletion(argv: readonly string[], commands: Completions): number {
  const [shell, ...rest] = argv;
  const knownShell = rest.length === 0 ? SHELLS.find((shellName) => shellName === shell) : undefined;
  if (knownShell === undefined) throw new UsageError(`divisor completion takes one of ${SHELLS.join(', ')}`);
  process.stdout.write(SCRIPTS[knownShell](commands));
  return 0;
}

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (commands: Completions) => string>> = {
  bash: formatBashScript,
  zsh: formatZshScript,
  fish: formatFishScript,
};

const listFirstWords = (commands: Completions) => [
  ...new Set(Object.keys(commands).map((name) => name.split(' ')[0]!)),
];

/** Returns the second words of each command family. */
function groupFamilies(commands: Completions): ReadonlyMap<string, readonly string[]> {
  const results = new Map<string, string[]>();
  for (const name of Object.keys(commands)) {
    const [first, second] = name.split(' ');
    if (second !== undefined) results.set(first!, [...(results.get(first!) ?? []), second]);
  }
  return results;
}

/**
 * Returns the branches of a case statement for bash and zsh: completions after `$command $flag`, otherwise after
 * `$command`.
 */
function formatCases(
  commands: Completions,
  formatOffer: (words: readonly string[]) => string,
  formatFileOffer: string,
): string {
  const flags = Object.entries(commands).flatMap(([name, { flags }]) =>
    Object.entries(flags).flatMap(([flag, values]) =>
      values === null
        ? []
        : [`    "${name} ${flag}") ${values.length === 0 ? formatFileOffer : formatOffer(values)} ;;\n`],
    ),
  );
  const names = [
    ...[...groupFamilies(commands)].map(([family, seconds]) => [family, seconds] as const),
    ...Object.entries(commands).map(([name, { words, flags }]) => [name, [...words, ...Object.keys(flags)]] as const),
  ];
  const otherCases = names.map(([name, words]) => `      "${name}") ${formatOffer(words)} ;;\n`).join('');
  return `  case "$command $flag" in\n${flags.join('')}    *) case "$command" in\n${otherCases}    esac`;
}

function formatBashScript(commands: Completions): string {
  const formatOffer = (words: readonly string[]) => `words="${formatWords(words, ['$(', ')'])}"`;
  return `_divisor() {
  local word="\${COMP_WORDS[COMP_CWORD]}" flag="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" words="" list=""
  if [ "$word" = "=" ]; then word=""
  elif [ "$flag" = "=" ]; then flag="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  case "$command" in ${[...groupFamilies(commands).keys()].join('|')}) [ "$COMP_CWORD" -eq 2 ] || command="$command \${COMP_WORDS[2]}" ;; esac
  if [ "$COMP_CWORD" -eq 1 ]; then ${formatOffer(listFirstWords(commands))}; else
${formatCases(commands, formatOffer, ':')} ;;
  esac; fi
  case "$word" in *,*) list="\${word%,*}," ;; esac
  COMPREPLY=($(compgen -P "$list" -W "$words" -- "\${word##*,}"))
  [ "\${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _divisor divisor
`;
}

/** Returns a script for zsh. It can be sourced; zsh can also load it when the user first completes a word. */
function formatZshScript(commands: Completions): string {
  const formatOffer = (words: readonly string[]) => `compadd -- ${formatWords(words, ['$(', ')'])}`;
  return `#compdef divisor
_divisor() {
  local command="\${words[2]}" flag="\${words[CURRENT-1]}"
  if (( CURRENT == 2 )); then ${formatOffer(listFirstWords(commands))}; return; fi
  if [[ "$PREFIX" == --*=* ]]; then flag="\${PREFIX%%=*}"; compset -P '*='; fi
  compset -P '*,'
  case "$command" in ${[...groupFamilies(commands).keys()].join('|')}) (( CURRENT == 3 )) || command="$command \${words[3]}" ;; esac
${formatCases(commands, formatOffer, '_files')}; _files ;;
  esac
}
if [ "\${funcstack[1]}" = _divisor ]; then _divisor "$@"; else compdef _divisor divisor; fi
`;
}

function formatFishScript(commands: Completions): string {
  const formatLine = (condition: string, rest: string) => `complete -c divisor -n "${condition}" ${rest}\n`;
  const formatWordCountTest = (words: number, operator = '-eq') =>
    `test (count (commandline -opc)) ${operator} ${words}`;
  const listCompletions = (words: readonly string[]) => `(__divisor_listed ${formatWords(words, ['(', ')'])})`;
  const formatFlagLine = (flag: string, values: readonly string[] | null) => {
    if (values === null) return `-l ${flag.slice(2)}`;
    return `-l ${flag.slice(2)} ${values.length === 0 ? '-r' : `-x -a "${listCompletions(values)}"`}`;
  };
  const lines = [
    formatLine(formatWordCountTest(1), `-f -a "${listFirstWords(commands).join(' ')}"`),
    ...[...groupFamilies(commands)].map(([family, seconds]) =>
      formatLine(`__divisor_is ${family}; and ${formatWordCountTest(2)}`, `-f -a "${seconds.join(' ')}"`),
    ),
    ...Object.entries(commands).flatMap(([name, { words, flags }]) => [
      ...(words.length === 0
        ? []
        : [
            formatLine(
              `__divisor_is ${name}; and ${formatWordCountTest(1 + name.split(' ').length, '-ge')}`,
              `-f -a "${listCompletions(words)}"`,
            ),
          ]),
      ...Object.entries(flags).map(([flag, values]) =>
        formatLine(`__divisor_is ${name}`, formatFlagLine(flag, values)),
      ),
    ]),
  ];
  return `function __divisor_is
  set -l words (commandline -opc)
  for word in divisor $argv
    test (count $words) -gt 0 -a "$words[1]" = $word; or return 1
    set -e words[1]
  end
end
function __divisor_listed
  set -l typed (string replace -r -- '^--[a-z-]+=' '' (commandline -t))
  printf '%s\\n' (string match -r -- '^.*,' $typed; or echo)$argv
end
${lines.join('')}`;
}
