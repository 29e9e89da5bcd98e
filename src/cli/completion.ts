import { UsageError } from './usage-error.js';

export const COMPLETION_HELP = [
  'divisor completion: Print what makes a shell complete commands and flags.\n',
  'Usage: divisor completion bash|zsh|fish\n',
  'Examples\n  source <(divisor completion bash)\n  divisor completion zsh > ~/.zfunc/_divisor\n  divisor completion fish > ~/.config/fish/completions/divisor.fish\n',
].join('\n');

/** Words of a command line that may follow each command. */
export type Completions = Readonly<Record<string, readonly string[]>>;

/** `divisor completion SHELL`. @throws UsageError */
export function completion(argv: readonly string[], commands: Completions): number {
  const [shell, ...rest] = argv;
  const script = rest.length === 0 && shell !== undefined && Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) throw new UsageError('divisor completion takes one of bash, zsh, fish');
  process.stdout.write(script(commands));
  return 0;
}

const SCRIPTS: Readonly<Record<string, (commands: Completions) => string>> = { bash, zsh, fish };

/** First words, and what follows each of them: the second words of a family, or flags. */
function followers(commands: Completions): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [name, flags] of Object.entries(commands)) {
    const [first = '', second] = name.split(' ');
    const held = found.get(first) ?? [];
    found.set(first, [...new Set([...held, ...(second === undefined ? [] : [second]), ...flags])]);
  }
  return found;
}

function bash(commands: Completions): string {
  const cases = [...followers(commands)].map(([name, words]) => `    ${name}) words="${words.join(' ')}" ;;`);
  return `_divisor() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="${[...followers(commands).keys()].join(' ')}"
  else case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ "\${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _divisor divisor
`;
}

function zsh(commands: Completions): string {
  const cases = [...followers(commands)].map(([name, words]) => `    ${name}) compadd -- ${words.join(' ')} ;;`);
  return `#compdef divisor
_divisor() {
  if (( CURRENT == 2 )); then compadd -- ${[...followers(commands).keys()].join(' ')}
  else case "$words[2]" in
${cases.join('\n')}
  esac; _files; fi
}
compdef _divisor divisor
`;
}

function fish(commands: Completions): string {
  const first = [...followers(commands).keys()].join(' ');
  const lines = [...followers(commands)].map(
    ([name, words]) => `complete -c divisor -n "__fish_seen_subcommand_from ${name}" -a "${words.join(' ')}"`,
  );
  return [`complete -c divisor -n "__fish_use_subcommand" -f -a "${first}"`, ...lines, ''].join('\n');
}
