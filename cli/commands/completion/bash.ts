// Generates the completion script for bash 3.2 and newer.

import { programName } from '../../command-definition.ts';
import type { CommandWords, OptionValue } from './words.ts';

/** Returns a script to be evaluated in ~/.bashrc. */
export function bashScript(commands: readonly CommandWords[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '');
  return `# Completion of ${programName} for bash; made by \`completion bash\`.
_service_router() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} place='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place/\${COMP_WORDS[i]}" in
      ${paths.join(' | ')}) place="$place/\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$place $previous" in
${commands.flatMap(({ path, optionValues }) => optionValues.map((option) => valueCase(path, option))).join('\n')}
  esac
  case "$place" in
${commands.map(wordsCase).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _service_router ${programName}
`;
}

function valueCase(path: string, { flags, value }: OptionValue): string {
  const pattern = flags.map((flag) => `'${path} ${flag}'`).join(' | ');
  return `    ${pattern}) ${completeValue(value)} return ;;`;
}

function completeValue(value: OptionValue['value']): string {
  if (value === 'unknown') return 'COMPREPLY=();';
  if (value === 'file') return completePath('-f');
  if (value === 'directory') return completePath('-d');
  return `COMPREPLY=($(compgen -W '${value.words.join(' ')}' -- "$current"));`;
}

/**
 * Completes paths: names with spaces stay whole, and bash quotes them. Bash 3.2 has no compopt; its error is discarded.
 */
function completePath(kind: '-f' | '-d'): string {
  return `local IFS=$'\\n'; compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen ${kind} -- "$current"));`;
}

/** Offers options only after a dash, or when the command takes nothing else. */
function wordsCase({ path, commands, values, options }: CommandWords): string {
  const plain = [...commands, ...values].map(({ text }) => text).join(' ');
  const flags = options.map(({ text }) => text).join(' ');
  if (plain === '') return `    '${path}') words='${flags}' ;;`;
  return `    '${path}') case "$current" in -*) words='${flags}' ;; *) words='${plain}' ;; esac ;;`;
}
